/** What each control does, in a sentence or two, and which work the idea comes from. */
export interface Help {
  text: string
  from?: Work
}

/** The works that langscape builds on, by author and year. */
export type Work = 'Müller 2023' | 'the Visualizing Attention page of 2023' | 'Claassen 2020' | 'Sawatzky & Kozyr' | 'Christoffel 2023'

/** The works by the numbers under which the server names them. */
export const WORKS: Record<string, Work> = {
  '000': 'Müller 2023',
  '001': 'the Visualizing Attention page of 2023',
  '002': 'Claassen 2020',
  '003': 'Sawatzky & Kozyr',
  '004': 'Christoffel 2023',
}

export const HELP = {
  quantiles: {
    text: 'Stretches both axes so that equally many points lie between neighbouring ticks. Crowded maps become readable; distances are lost.',
    from: 'Müller 2023',
  },
  colour: {
    text: 'Colours points by any column of the items, or by a score per point such as its error. A click on a legend entry hides its points.',
  },
  trust: {
    text: 'Scores of how much of the data is still true of the picture; a sentence beside each says what it means. Colour points by a score to see where the map errs.',
    from: 'Claassen 2020',
  },
  otherRestarts: {
    text: 'Shows where the other restarts put each token, after turning and mirroring them onto this map. If these places lie close by, the place on this map can be trusted; if they lie everywhere, the token could have landed anywhere.',
    from: 'Müller 2023',
  },
  restarts: {
    text: 'A map is computed several times from different starts and the one of lowest KL is kept. More restarts take longer and may find a better one.',
    from: 'Müller 2023',
  },
  special: {
    text: 'Tokens such as [CLS], [SEP] or </s> that the model adds. Many heads park their attention there, which hides the rest.',
    from: 'Müller 2023',
  },
  matrix: {
    text: 'Queries down, keys across. A row is where one token looks, and sums to 1. Colour grows with the square root of the weight, so that weak weights are seen.',
    from: 'Müller 2023',
  },
  strip: {
    text: 'For every token the largest and the mean weight that any query gives it: which tokens the head uses at all.',
    from: 'Müller 2023',
  },
  lines: {
    text: 'The text itself, with lines from the token you point at to the eight it attends to most, or from those that attend to it. A click keeps them.',
    from: 'Müller 2023',
  },
  sort: {
    text: 'Puts heads in order of a score.',
    from: 'Müller 2023',
  },
  group: {
    text: 'Gathers heads by layer, by what they do, or by likeness: heads of one group attend alike.',
    from: 'Müller 2023',
  },
  kept: {
    text: 'Kept is the share of each token’s strongest partners that are also among its nearest on the map. Low: what lies close says little of who attends to whom.',
  },
  verdict: {
    text: 'How far a map can be read: what it keeps, against maps of the same weights dealt at random. Good is far above them, not to be read no better; evenly spread heads have nothing to map.',
  },
  wholeWords: {
    text: 'Joins the pieces into which the tokenizer cut a word. In the matrix their weights are summed over keys and averaged over queries; on the map pieces keep their places, joined by a line, and the word is written once.',
  },
  thread: {
    text: 'A thin line through the tokens in reading order: a head that reads the text in order is a thread without crossings.',
    from: 'Müller 2023',
  },
  partners: {
    text: 'The strongest weights of this token, as the model has them. Solid lines lead to partners that lie near, dashed ones to those the map could not keep close; crossed out are tokens that lie near and are none of its strongest partners. On the map of a head, coloured lines lead to whom it attends, dark ones to who attends to it. With the switch, all points take the colour of their weight with the one under the pointer.',
    from: 'Müller 2023',
  },
  sentence: {
    text: 'From every query of the sentence that is looked at, lines to its two strongest keys, the thicker the stronger. Which sentence it is follows from the query or key that is chosen.',
  },
  names: {
    text: 'The words beside the points, as many as there is room for. Without them, only what is pointed at or chosen has its name.',
  },
  values: {
    text: 'Weighs attention by the length of what is taken: the weight of a key times the norm of its value vector, as shares of all that the query takes. Special tokens often get much attention and have short values. It changes the lines and the words beside the map, not the places.',
  },
  layout: {
    text: 'How vectors become a map, on a plane or in space. What was computed before comes at once; the rest is computed now. PCA is of vectors, so it is a map by distance.',
    from: 'the Visualizing Attention page of 2023',
  },
  norm: {
    text: 'Dots grow with the length of their vectors, query or key: long ones can give, or get, stronger attention.',
  },
  truth: {
    text: 'The nearest in the data, before anything was laid out. Solid lines lead to those that the map keeps near, dashed ones to those that it put elsewhere; crossed out are points that lie near here and are not near in the data. With the switch, all points take the colour of their true distance to the one under the pointer; where the map does not carry its vectors, those beyond its nearest are grey.',
  },
  shade: {
    text: 'Where the layout could not keep what is true. Tears are regions of low continuity: neighbours in the data lie elsewhere. Regions of false neighbours have low trustworthiness: what lies near is far in the data.',
  },
  only: { text: 'Keeps heads whose number or name begins like this: 3 for layer 3, 3.5 for one head, induction for all that do it.' },
  light: { text: 'Lights every token whose text holds these letters, in all thumbnails at once.' },
  thumbnail: {
    text: 'A head’s map made small: tokens that attend alike lie together. Click it to open the head.',
    from: 'Müller 2023',
  },
  headmap: { text: 'One point per head; heads that attend alike on this text lie together.', from: 'Müller 2023' },
  model: { text: 'The model that reads the text: one of the packaged ones, a Hub id, or a folder on this machine.' },
  text: { text: 'What the model reads. Paste, upload, or take a sample; a few sentences are enough.' },
  layer: { text: 'Layers and heads are the model’s own numbers and begin at 0. On a head, arrow keys go to its neighbours.' },
  insert: {
    text: 'Places new words on the finished map: each goes between the words it is most similar to, and nothing else moves. A word unlike all of them is placed too, with a warning.',
    from: 'Claassen 2020',
  },
  placed: {
    text: 'Local: of a placed word’s nearest in the vectors, the share that is also nearest on the map. Global: rank correlation of its distances in the vectors and on the map. Each is a mean over the placed words and stands beside what the same words have in random places of the map; not told apart means that so much is reached by chance too.',
    from: 'Claassen 2020',
  },
  vector: {
    text: 'Places a vector that you paste: as many numbers as the vectors of this map have, and a name before them if you like. Nothing else moves.',
    from: 'Claassen 2020',
  },
  perplexity: {
    text: 'Roughly how many neighbours count for a word. Small values show small groups, large ones the coarse order.',
    from: 'Claassen 2020',
  },
  local: {
    text: 'Gives each word its own perplexity, counted from how many words are clearly similar to it.',
    from: 'Claassen 2020',
  },
  landmarks: {
    text: 'Maps this many words with care and inserts all others between them: the way to large vocabularies.',
    from: 'Claassen 2020',
  },
  vectors: {
    text: 'A file of word vectors: word2vec (binary or text), GloVe, fastText, CSV, .npz, .parquet or .safetensors; or the sample words.',
  },
  words: { text: 'Only these words are mapped, one per line. Leave it empty for all.' },
  reading: {
    text: 'The whole text at once, as other rooms read it, so that attention can lead from one sentence to another; or each sentence alone, as if nothing stood around it.',
  },
  c: {
    text: 'Queries are divided by c and keys multiplied by it before they are mapped together by distance: their dot products, and so all attention weights, stay as they are, but which of them lie near changes. At the best c, near on the map means a high dot product, so that closeness stands for attention.',
    from: 'the Visualizing Attention page of 2023',
  },
  by: {
    text: 'How c is chosen: by the correlation of distance and dot product, weighted or not, or by your own hand.',
    from: 'the Visualizing Attention page of 2023',
  },
  queries: {
    text: 'Queries and keys of one head as points on one map; two colours tell them apart.',
    from: 'the Visualizing Attention page of 2023',
  },
  shape: {
    text: 'Every word is a distribution over the contexts it stands in. Ellipses show how wide it is; points only where its middle lies.',
    from: 'Christoffel 2023',
  },
  distance: { text: 'How two distributions are compared before they are mapped.', from: 'Christoffel 2023' },
  contexts: { text: 'The places in the text that made this word’s distribution.', from: 'Christoffel 2023' },
  prompt: {
    text: 'What the model reads, step by step. The picture shows what flows where at each step and which word comes next.',
    from: 'Sawatzky & Kozyr',
  },
  meaning: {
    text: 'Words are mapped so that alike ones have alike colours; a vector takes the colour of the words it is nearest to. Grey means nothing in particular.',
    from: 'Sawatzky & Kozyr',
  },
  stretch: { text: 'Bars grow with the square root of a value, so that small ones are seen beside a huge one.', from: 'Sawatzky & Kozyr' },
  compare: {
    text: 'Two maps of the same items, the second turned and mirrored onto the first and made as large (Procrustes). Listed are the items that share fewest neighbours on both maps, or that still lie farthest from their place on the other; of two heads, first those whose attention goes elsewhere.',
  },
  elsewhere: {
    text: 'Half the sum of the absolute differences of a token’s row: 0 % looks at the same tokens, 100 % at none in common. Special tokens count as all others do, and no row is scaled; hiding tokens leaves them out of the picture alone.',
  },
  moves: {
    text: 'Lines from the 40 items that moved most to where they lie on the other map, with a ring there. What is chosen has its line in any case.',
  },
  function_words: {
    text: 'Words that hold sentences together, such as “the”, “they” and “was”. Their contexts vary most and they lie in the middle of the map, above the words that one looks for.',
  },
  pin: {
    text: 'Keeps a second head beside this one: both maps and both matrices of the same text. Compare lays the second map over the first and lists what moved.',
  },
  export: {
    text: 'Saves what this room shows: a figure (SVG, PNG), a page that works without langscape (HTML), or the numbers (CSV, Parquet).',
  },
  search: {
    text: 'Finds labels by any part of them, or by a pattern between slashes, such as /^un.*ed$/. Enter goes to the next match; Esc clears.',
  },
  jobs: {
    text: 'Every computation is a job. Jobs go on when you leave the room, reload or close the browser; the same question again is answered from what is kept.',
  },
} as const satisfies Record<string, Help>

export type Topic = keyof typeof HELP
