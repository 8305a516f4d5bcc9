/** One thing that a room can compute: its name at the server, and what the page calls it. */
export interface RoomAnalysis {
  analysis: string
  /** What the switch between several of a room says. */
  title: string
  /** What the button that opens the form says, and the one that runs it. */
  change: string
  verb: string
  /** Settings that everybody sees; the others are one click away. */
  main: string[]
  /** What it gives, as a sentence goes on after "Compute": "queries and keys". */
  gives?: string
  /** Whether it is computed on entering the room, since it takes seconds: one head, one text. */
  quick?: boolean
  /** Whether its layers are numbered from the embedding, one more than those of heads. */
  after?: boolean
  /** Inputs and settings that mean nothing under these values, and are not shown. */
  hides?: (values: Record<string, unknown>) => string[]
}

const WORDS = ['vectors', 'other_vectors', 'words']
const HEADS = ['head', 'other_head']
/** Only the decoder of an encoder–decoder reads a target, and only where its side is asked for. */
const noTarget = (values: Record<string, unknown>) => (values.side ? [] : ['target'])
const READING = ['text', 'other_text', 'model', 'other_model', 'layer', 'other_layer', 'special', 'restarts', 'steps', 'cut']

/** The rooms in their order. The first analysis of a room is the one it opens on. */
export interface RoomName {
  name: string
  title: string
  analyses: RoomAnalysis[]
  /** What the room is for, in one line. */
  about: string
}

const ATLAS: RoomAnalysis = {
  analysis: 'atlas',
  title: 'From the atlas',
  change: 'Your text',
  verb: 'Map every head',
  gives: 'the atlas of all heads',
  main: ['model', 'restarts', 'special'],
  hides: noTarget,
}

export const ROOMS: RoomName[] = [
  {
    name: 'atlas',
    title: 'Atlas',
    analyses: [
      { ...ATLAS, title: 'One text' },
      {
        analysis: 'heads',
        title: 'A corpus',
        change: 'Your texts',
        verb: 'Name every head',
        main: ['model', 'most', 'unit'],
      },
    ],
    about: 'Every attention head of a model over your text, ranked; or over many texts, with roles that hold.',
  },
  {
    name: 'head',
    title: 'Head',
    analyses: [
      ATLAS,
      {
        analysis: 'head',
        title: 'Many restarts',
        change: 'Another head',
        verb: 'Map this head',
        gives: 'the map of this head from many starts',
        quick: true,
        main: ['model', 'layer', 'head', 'restarts'],
        hides: noTarget,
      },
      {
        analysis: 'hidden',
        title: 'Hidden states',
        change: 'Another layer',
        verb: 'Map hidden states',
        gives: 'the map of hidden states',
        quick: true,
        after: true,
        main: ['model', 'layer', 'perplexity', 'restarts'],
        hides: noTarget,
      },
    ],
    about: 'One head: its map of tokens, its matrix, its lines.',
  },
  {
    name: 'queries',
    title: 'Queries & keys',
    analyses: [
      {
        analysis: 'query_key',
        title: 'One head',
        change: 'Your text',
        verb: 'Map queries and keys',
        gives: 'queries and keys',
        quick: true,
        main: ['model', 'layer', 'head', 'by', 'c', 'choose'],
        hides: ({ by, c, choose }) => (by === 'distance' || typeof c === 'number' || (choose ?? 'none') !== 'none' ? [] : ['c', 'choose']),
      },
      {
        analysis: 'query_key.grid',
        title: 'Every head',
        change: 'Your text',
        verb: 'Map every head',
        gives: 'queries and keys of every head',
        main: ['model', 'by', 'c', 'tokens'],
      },
      {
        analysis: 'query_key.constants',
        title: 'Six constants',
        change: 'Your text',
        verb: 'Map under six constants',
        gives: 'queries and keys under six constants',
        main: ['model', 'layer', 'head', 'choose', 'tokens'],
      },
      {
        analysis: 'query_key.beside',
        title: 'Two ways',
        change: 'Your text',
        verb: 'Map both ways',
        gives: 'both maps of this head',
        main: ['model', 'layer', 'head', 'by'],
      },
      {
        analysis: 'query_key.scale',
        title: 'The constant c',
        change: 'Your text',
        verb: 'Measure every head',
        gives: 'the best constant of every head',
        main: ['model', 'percentile', 'least_keys', 'tokens'],
      },
    ],
    about: 'A head’s queries and keys on one map: close means attention.',
  },
  {
    name: 'words',
    title: 'Words',
    analyses: [
      {
        analysis: 'words',
        title: 'Words',
        change: 'Your words',
        verb: 'Map words',
        main: ['perplexity', 'local', 'restarts', 'landmarks'],
      },
    ],
    about: 'Word vectors as a map, with new words placed live.',
  },
  {
    name: 'distributions',
    title: 'Distributions',
    analyses: [
      {
        analysis: 'ellipses',
        title: 'Distributions',
        change: 'Your distributions',
        verb: 'Map distributions',
        main: ['model', 'most', 'method', 'shape', 'distance'],
      },
    ],
    about: 'Words as distributions: where they lie and how wide they are.',
  },
  {
    name: 'flow',
    title: 'Flow',
    analyses: [{ analysis: 'flow', title: 'Flow', change: 'More settings', verb: 'Read it', main: ['model', 'prompt'] }],
    about: 'What flows through a network as it reads, step by step.',
  },
  {
    name: 'test',
    title: 'Test',
    analyses: [
      {
        analysis: 'effects',
        title: 'What matters',
        change: 'Your text',
        verb: 'Take parts away',
        gives: 'what each head does',
        main: ['model', 'how', 'parts', 'verify'],
      },
      {
        analysis: 'why',
        title: 'Why it looks here',
        change: 'Another weight',
        verb: 'Trace this weight',
        gives: 'what made this weight',
        quick: true,
        main: ['model', 'layer', 'head', 'query', 'key'],
      },
      {
        analysis: 'patch',
        title: 'Two prompts',
        change: 'Your prompts',
        verb: 'Patch every cell',
        gives: 'what each cell restores',
        main: ['model', 'words', 'of', 'direction'],
      },
      {
        analysis: 'edit',
        title: 'Edit',
        change: 'Other edits',
        verb: 'Run with edits',
        gives: 'the edited run',
        main: ['model', 'edits'],
      },
    ],
    about: 'Take parts of a model away, or patch them, and see what changes: does it matter?',
  },
  {
    name: 'compare',
    title: 'Compare',
    analyses: [
      {
        analysis: 'compare',
        title: 'Compare',
        change: 'Compare others',
        verb: 'Compare',
        gives: 'a comparison',
        main: ['what', 'model', 'other_model', 'layer', 'other_layer', 'head', 'other_head'],
        hides: ({ what }) =>
          what === 'words' ? [...READING, ...HEADS] : what === 'head' ? [...WORDS, 'perplexity'] : [...WORDS, ...HEADS],
      },
    ],
    about: 'Two texts or two models side by side, aligned; what moved most.',
  },
  { name: 'jobs', title: 'Jobs', analyses: [], about: 'Everything that is or was computed.' },
]

/** The room that shows what an analysis computes; an analysis of several rooms belongs to the first. */
export function roomOf(analysis: string): RoomName | undefined {
  return ROOMS.find((room) => room.analyses.some((one) => one.analysis === analysis))
}

/** What the page knows of an analysis. */
export function analysisIn(name: string): RoomAnalysis | undefined {
  return roomOf(name)?.analyses.find(({ analysis }) => analysis === name)
}

/** The analysis that a job's id begins with. */
export function analysisOf(job: string): string {
  return job.slice(0, job.lastIndexOf('-'))
}
