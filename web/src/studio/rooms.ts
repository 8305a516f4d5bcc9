import type { CarriedSettings } from './context'

/** What is carried besides the text: the head, the one that is kept beside it, the token, and how large the model is. */
export interface Along {
  head: { layer: number; head: number } | null
  pinned: string | null
  token: number | null
  /** Of a model that is known. */
  size: { layers: number; heads: number | null } | null
}

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
  /** What one sees and how to read it: for the room while it is empty, and under the pointer. */
  about?: string
  /** What the switches of a room with many analyses are gathered under. */
  group?: string
  /** What the carried text and model do not say: one head, or what only the form can ask. */
  needs?: 'head' | 'form'
  /** Whether it is computed on entering the room, since it takes seconds: one head, one text; or that of a small model. */
  quick?: boolean | 'small'
  /** Whether its layers are numbered from the embedding, one more than those of heads. */
  after?: boolean
  /** What it asks for of the head and the token that are carried, where that is more than the head itself. */
  carries?: (settings: CarriedSettings, along: Along) => CarriedSettings
  /** Sentences that a text must have: with fewer there is nothing to compute. */
  sentences?: number
  /** What it is asked with of what is carried, where nobody said otherwise. */
  prefers?: Record<string, string | number>
  /** Whether what was asked for here stays while the model and the text are the same. */
  keeps?: boolean
  /** Inputs of which one is given, what a form calls them, and the inputs and settings that belong to one of them alone. */
  sources?: Source[]
  /** Whether it reads the model and the prompt that the room's first analysis shows; 'now' where it is computed at once. */
  follows?: boolean | 'now'
  /** Inputs and settings that mean nothing under these values, and are not shown. */
  hides?: (values: Record<string, unknown>) => string[]
}

/** One of several things that an analysis can be made from. */
export interface Source {
  input: string
  label: string
  only: string[]
}

/** What a job is made from. The server fills in the first, a sample, also where another is given. */
export function sourceOf(sources: Source[], inputs: Record<string, unknown>): string {
  return (sources.slice(1).find(({ input }) => inputs[input]) ?? sources[0])?.input ?? ''
}

/** What a form does not show while it reads from one of several sources: the others, and what belongs to them alone. */
export function otherSources(sources: Source[], chosen: string): string[] {
  const own = sources.find(({ input }) => input === chosen)?.only ?? []
  return sources
    .filter(({ input }) => input !== chosen)
    .flatMap(({ input, only }) => [input, ...only.filter((name) => !own.includes(name))])
}

const WORDS = ['vectors', 'other_vectors', 'words']
const HEADS = ['head', 'other_head']
/** Only the decoder of an encoder–decoder reads a target, and only where its side is asked for. */
const noTarget = (values: Record<string, unknown>) => (values.side ? [] : ['target'])
const READING = ['text', 'other_text', 'model', 'other_model', 'layer', 'other_layer', 'special', 'restarts', 'steps', 'cut']

/** The head that is carried beside the pinned one, or its neighbour in the layer; without a head, an early and the last state. */
function compared({ layer: _, head: __, ...rest }: CarriedSettings, { head: at, pinned, size }: Along): CarriedSettings {
  if (!at) return size && size.layers > 1 ? { ...rest, what: 'hidden', layer: 1, other_layer: size.layers } : rest
  const { layer, head } = at
  const [pinnedLayer, pinnedHead] = (pinned ?? '').split('.').map(Number)
  const isOther = pinned !== null && (pinnedLayer !== layer || pinnedHead !== head)
  const [otherLayer, otherHead] = isOther ? [pinnedLayer, pinnedHead] : [layer, head > 0 ? head - 1 : 1]
  // a layer that has one head alone is beside the next layer
  if (!isOther && size?.heads === 1) return { ...rest, what: 'hidden', layer, other_layer: layer + 1 }
  return { ...rest, what: 'head', layer, head, other_layer: otherLayer, other_head: otherHead }
}

/** A text has fewer words, each in fewer contexts, than the large corpora that the defaults of distributions are for. */
export const OF_ONE_TEXT = { contexts: 20, perplexity: 10 }

/** Heads whose loss shows well, by model: what is taken away where no head was chosen. */
const SHOWN_LOSS: Record<string, string> = { default: '1.8', decoder: '16.0' }

/** The head that is carried, taken away. */
function takenAway(settings: CarriedSettings, { head }: Along): CarriedSettings {
  const name = head ? `${head.layer}.${head.head}` : (SHOWN_LOSS[String(settings.model ?? 'decoder')] ?? '0.0')
  return { ...wholeText(settings), edits: [`head ${name} mean`] }
}

/** The head of the examples: what is shown of a text of which no head was chosen. */
const FIRST_HEAD = { layer: 2, head: 1 }

/** So many tokens are read where nothing else is asked for. */
const FIRST_TOKENS = 64

/** A small model reads as much of the text as the other rooms do, so that the scores of a head are the same in all of them. */
function wholeText(settings: CarriedSettings): CarriedSettings {
  return settings.model === undefined || settings.model === 'default' ? { ...settings, first_tokens: 512 } : settings
}

/** Of a small model every head is taken away, which takes seconds: nothing is estimated. */
function everyHead(settings: CarriedSettings): CarriedSettings {
  const read = wholeText(settings)
  return read.first_tokens === undefined ? read : { ...read, how: 'exact' }
}

/** The token that is followed is the one that looks; as much is read as it takes to see it. */
function looking(settings: CarriedSettings, { token }: Along): CarriedSettings {
  const read = wholeText(settings)
  if (token === null) return read
  return { ...read, ...(read.first_tokens === undefined && token >= FIRST_TOKENS && { first_tokens: token + 1 }), query: token }
}

/** The rooms in their order. The first analysis of a room is the one it opens on. */
export interface RoomName {
  name: string
  title: string
  analyses: RoomAnalysis[]
  /** What the room is for, in one line. */
  about: string
  /** Whether what is said of an analysis stays above its picture. */
  explains?: boolean
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
        group: 'One head',
        about:
          'A dot is a query, a diamond a key. A query lies near the keys it attends to: click a token for lines to its strongest. Query-specific order: 0 is a picture that knows no query, 1 is perfect.',
        title: 'One head',
        change: 'Your text',
        verb: 'Map queries and keys',
        gives: 'queries and keys',
        quick: true,
        // as other rooms read it, so that a weight is the same in all
        prefers: { read: 'text', ...FIRST_HEAD },
        main: ['model', 'layer', 'head', 'read', 'by', 'c', 'choose'],
        hides: ({ by, c, choose }) => (by === 'distance' || typeof c === 'number' || (choose ?? 'none') !== 'none' ? [] : ['c', 'choose']),
      },
      {
        analysis: 'query_key.constants',
        group: 'One head',
        about:
          'One head laid out by distance, six times. Queries are divided by a constant c and keys multiplied by it: no attention weight changes, but what lies near does. A frame marks the c at which near means attended to, where the text is long enough to choose one; the number under a map is its query-specific order (± two standard errors), 0 by chance and 1 at best.',
        prefers: { read: 'text', ...FIRST_HEAD },
        title: 'Six values of c',
        change: 'Your text',
        verb: 'Map under six constants',
        gives: 'queries and keys under six constants',
        quick: 'small',
        main: ['model', 'layer', 'head', 'read', 'choose', 'tokens'],
      },
      {
        analysis: 'query_key.beside',
        group: 'One head',
        about:
          'Left, two points a token: what it looks for and what it offers. Right, one point a token, near those it attends to and is attended to by. “Agreement” is the share of a token’s five nearest that both maps have in common, set against tokens dealt at random.',
        prefers: FIRST_HEAD,
        title: 'Beside attention',
        change: 'Your text',
        verb: 'Map both ways',
        gives: 'both maps of this head',
        quick: 'small',
        main: ['model', 'layer', 'head', 'by'],
      },
      {
        analysis: 'query_key.grid',
        group: 'Every head',
        about:
          'One small map a head: blue queries lie near the orange keys they attend to. The number is the map’s query-specific order: 0 by chance, 1 where nearness orders keys as each query does. Click a map to open it.',
        prefers: { read: 'text' },
        title: 'Every head',
        change: 'Your text',
        verb: 'Map every head',
        gives: 'queries and keys of every head',
        quick: 'small',
        main: ['model', 'read', 'by', 'c', 'tokens'],
      },
      {
        analysis: 'query_key.search',
        group: 'Every head',
        about:
          'One table a pattern (to the next word, to the same word, from a noun to its pronoun), one cell a head: how many times more weight a query gives along the pattern than other queries give to the same keys. 1 is chance; bold heads are beyond it. A pattern needs ten queries in five sentences.',
        // metrics/head_search.py: a pattern is asked of heads where it stands in so many
        sentences: 5,
        title: 'Find a pattern',
        change: 'Your text',
        verb: 'Search all heads',
        gives: 'what every head does',
        quick: 'small',
        main: ['model', 'find', 'tagger', 'tokens'],
      },
      {
        analysis: 'query_key.scale',
        group: 'Every head',
        about:
          'Dividing queries by a constant c and multiplying keys by it changes no attention weight, only what lies near on a map by distance. One cell a head: the c at which near means attended to, by three metrics. 1 is no change, – says that the text cannot tell.',
        // a text read as a whole is one sample, and cannot tell any c
        prefers: { read: 'sentences' },
        title: 'Best c per head',
        change: 'Your text',
        verb: 'Measure every head',
        gives: 'the best constant of every head',
        quick: 'small',
        main: ['model', 'read', 'percentile', 'least_keys', 'tokens'],
      },
    ],
    about: 'A head’s queries and keys on one map: close means attention.',
    explains: true,
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
        main: ['perplexity', 'neighbours', 'restarts', 'landmarks'],
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
        main: ['by', 'columns', 'model', 'most', 'layer', 'method', 'split'],
        // the box of words takes them by name too; those that a command named stay
        hides: ({ words }) => (words ? [] : ['words']),
        sources: [
          {
            input: 'corpus',
            label: 'A corpus',
            only: ['words', 'list', 'model', 'most', 'contexts', 'unit', 'layer', 'rank'],
          },
          { input: 'table', label: 'A table of numbers', only: ['by', 'columns', 'standardise', 'missing'] },
          { input: 'gaussians', label: 'A file of distributions', only: [] },
        ],
      },
    ],
    about: 'One word in many contexts: an ellipse for each word, the larger the more its contexts vary; or a dot for each occurrence.',
  },
  {
    name: 'flow',
    title: 'Flow',
    analyses: [
      { analysis: 'flow', title: 'Flow', change: 'More settings', verb: 'Read it', main: ['model', 'prompt'] },
      {
        analysis: 'generate',
        title: 'What comes next',
        change: 'Another prompt',
        verb: 'Write on',
        gives: 'what comes next',
        about:
          'The prompt is written on, a word at a time: the words that could come next, and those that were written, each with its chance.',
        follows: 'now',
        main: ['model', 'prompt', 'other', 'count', 'temperature', 'top_k', 'top_p', 'seed'],
      },
      {
        analysis: 'probe',
        title: 'What it remembers',
        change: 'Your texts',
        verb: 'Train probes',
        gives: 'what vectors remember',
        about:
          'For each question a small classifier is trained to read the answer off the vectors; it is asked about texts it has not seen.',
        follows: true,
        main: ['model', 'vector', 'back', 'most'],
      },
    ],
    about: 'What flows through a network as it reads, step by step; and what its vectors remember.',
    explains: true,
  },
  {
    name: 'test',
    title: 'Test',
    analyses: [
      {
        analysis: 'effects',
        group: 'Take away',
        title: 'What matters',
        change: 'Your text',
        verb: 'Take parts away',
        gives: 'what each head does',
        about:
          'The higher a dot, the more the model’s answer changes without that head. Far right and low: a head that looks at chosen tokens and does little.',
        quick: 'small',
        carries: everyHead,
        keeps: true,
        main: ['model', 'how', 'parts', 'groups', 'measure'],
        sources: [
          { input: 'text', label: 'One text', only: [] },
          { input: 'texts', label: 'Many texts', only: ['unit', 'column', 'most'] },
        ],
      },
      {
        analysis: 'edges',
        group: 'Take away',
        title: 'Edges',
        change: 'Another head',
        verb: 'Cut the edges of this head',
        gives: 'what the edges of this head do',
        about:
          'Each weight of a head, from one token to another, is cut alone: the stronger the colour of a cell, the more the model’s answer changes without it.',
        needs: 'head',
        quick: 'small',
        carries: wholeText,
        main: ['model', 'layer', 'head', 'verify'],
      },
      {
        analysis: 'chunks',
        group: 'Take away',
        title: 'Chunks',
        change: 'Your text',
        verb: 'Leave each chunk out',
        gives: 'what each chunk does',
        about: 'Each sentence or paragraph is left out in turn: what changes, beside how much heads attended to it. Both often differ.',
        quick: 'small',
        main: ['model', 'by'],
      },
      {
        analysis: 'roles',
        group: 'Take away',
        title: 'Roles',
        change: 'Another model',
        verb: 'Test the roles',
        gives: 'whether roles hold',
        about:
          'Heads are named by where they look. Here each name is tested: as much attention is cut along the role as elsewhere in the head, and heads are taken away beside heads without the role.',
        carries: wholeText,
        main: ['model', 'heads', 'others'],
      },
      {
        analysis: 'why',
        group: 'Trace',
        title: 'Why it looks here',
        change: 'Another weight',
        verb: 'Trace this weight',
        gives: 'what made this weight',
        quick: true,
        about:
          'One attention weight is traced back to the earlier heads, MLPs and embeddings that made it, and the strongest are taken away to see whether that holds. The token that looks is the one that you follow, or one that looks clearly at another.',
        needs: 'head',
        carries: looking,
        main: ['model', 'layer', 'head', 'query', 'key'],
      },
      {
        analysis: 'patch',
        group: 'Trace',
        title: 'Two prompts',
        change: 'Your prompts',
        verb: 'Patch every cell',
        gives: 'what each cell restores',
        about:
          'Two prompts of equal length with different next words: each cell of one run is put into the other, and a strong cell carries the answer.',
        needs: 'form',
        main: ['model', 'words', 'of', 'direction'],
      },
      {
        analysis: 'edit',
        group: 'Change',
        title: 'Edit',
        change: 'Other edits',
        verb: 'Run with edits',
        gives: 'the edited run',
        about:
          'The text is read once as it is and once with a head replaced by its own mean: the taller a bar, the more the answer at that token changes. “Other edits” replaces other heads, MLPs or single lines.',
        quick: true,
        keeps: true,
        carries: takenAway,
        main: ['model', 'edits'],
      },
    ],
    about: 'Take parts of a model away, or patch them, and see what changes: does it matter?',
    explains: true,
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
        quick: true,
        keeps: true,
        carries: compared,
        main: ['what', 'model', 'other_model', 'layer', 'other_layer', 'head', 'other_head'],
        hides: ({ what }) =>
          what === 'words' ? [...READING, ...HEADS] : what === 'head' ? [...WORDS, 'perplexity'] : [...WORDS, ...HEADS],
      },
    ],
    about: 'Two texts or two models side by side, aligned; what changed most.',
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
