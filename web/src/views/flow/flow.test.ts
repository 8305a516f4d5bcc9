import { describe, expect, it } from 'vitest'

import type { NamedArray, View } from '../../lib/view'
import { agreement, aligned, percent, plain } from './figures'
import { fromHalves } from './half'
import { inShort, whyRather } from './inshort'
import { boundsOf, colourOf, nearest, numberOf, readLstm, shownWord, tokenNamed, topWords, vector } from './model'
import { fitting, pathTo, restOf } from './path'
import { blockSum, firstWithout, looksAt, needed, ranked, readBy, readStream, scoreOf, sourcesOf, wholeSum } from './stream'
import { largest, trace } from './trace'
import { bend, dimensionAt, drawn, lined, orderOf, overlaid, STRIP, strongest, summary } from './widget'

const array = (shape: number[], data: number[]): NamedArray => ({ shape, data: Float32Array.from(data) })
const whole = (shape: number[], data: number[]): NamedArray => ({ shape, data: Int32Array.from(data) })

/** One gate, one product and two words: 2 units, 2 steps. */
function small(): View {
  return {
    kind: 'flow',
    properties: {
      title: 't',
      subtitle: '',
      model: 'lstm',
      tokens: ['a', 'b'],
      words: ['x', 'y'],
      layers: 1,
      alarms: [],
      quality: [],
      notes: [],
      nodes: [
        { id: 'embedding', label: 'word', kind: 'vector', column: 0, row: 0, array: 'embedding' },
        { id: 'l0.hidden_before', label: 'before', kind: 'vector', column: 0, row: 1, array: 'hidden', layer: 0, before: 'hidden_before' },
        { id: 'l0.forget_pre', label: 'pre', kind: 'pre', array: 'forget_pre', layer: 0 },
        { id: 'l0.forget', label: 'forget gate', kind: 'gate', column: 1, row: 0, array: 'forget', layer: 0 },
        { id: 'l0.hidden', label: 'hidden', kind: 'vector', column: 2, row: 0, array: 'hidden', layer: 0 },
        { id: 'logits', label: 'logits', kind: 'pre' },
        { id: 'softmax', label: 'next word', kind: 'words', column: 3, row: 0 },
      ],
      operations: [
        {
          kind: 'matrix',
          to: 'l0.forget_pre',
          main: 'embedding',
          inputs: [
            { node: 'embedding', weights: 'W' },
            { node: 'l0.hidden_before', weights: 'U' },
          ],
          bias: 'b',
          block: 1,
        },
        { kind: 'sigmoid', to: 'l0.forget', main: 'l0.forget_pre', inputs: [{ node: 'l0.forget_pre' }] },
        { kind: 'product', to: 'l0.hidden', main: 'embedding', inputs: [{ node: 'embedding' }, { node: 'l0.forget' }] },
        {
          kind: 'matrix',
          to: 'logits',
          main: 'l0.hidden',
          inputs: [{ node: 'l0.hidden', weights: 'decoder' }],
          bias: 'decoder_bias',
          block: 0,
        },
        { kind: 'softmax', to: 'softmax', main: 'logits', inputs: [{ node: 'logits' }] },
      ],
    },
    arrays: {
      embedding: array([2, 2], [1, -2, 3, 4]),
      hidden: array([1, 2, 2], [0.5, 0.25, -1, 1]),
      hidden_before: array([1, 2], [9, 8]),
      forget_pre: array([1, 2, 2], [-3, 1, 0, 0]),
      forget: array([1, 2, 2], [0.25, 0.5, 0.75, 1]),
      colour_forget: { shape: [1, 2, 3], data: Uint8Array.from([1, 2, 3, 4, 5, 6]) },
      W: array([4, 2], [0, 0, 0, 0, 1, 2, 3, 4]),
      U: array([4, 2], [0, 0, 0, 0, 0.5, 0, 0, 0.5]),
      b: array([4], [0, 0, 10, 20]),
      top: whole([2, 2], [1, 0, 0, 1]),
      top_chances: array([2, 2], [0.75, 0.25, 0.5, 0.5]),
      top_logits: array([2, 2], [2, 1, 0, 0]),
      log_total: array([2], [2.5, 1]),
      decoder: array([2, 2], [1, 1, 2, 4]),
      decoder_bias: array([2], [0.1, 0]),
      nearest_forget: whole([1, 2, 1], [1, 0]),
      nearest_forget_by: array([1, 2, 1], [0.1, 0.2]),
    },
    later: {},
  }
}

describe('the graph', () => {
  const flow = readLstm(small())

  it('gives the vector of a step, of the step before, and of before the first', () => {
    expect([...vector(flow, 'embedding', 1)]).toEqual([3, 4])
    expect([...vector(flow, 'l0.hidden_before', 1)]).toEqual([0.5, 0.25])
    expect([...vector(flow, 'l0.hidden_before', 0)]).toEqual([9, 8])
  })

  it('names words with their colours and values', () => {
    expect(topWords(flow, 0)).toEqual([
      { word: 'y', colour: null, value: 0.75 },
      { word: 'x', colour: null, value: 0.25 },
    ])
    expect(nearest(flow, 'l0.forget', 1)[0].word).toBe('x')
    expect(colourOf(flow, 'l0.forget', 1)).toBe('rgb(4 5 6)')
  })

  it('takes a matrix product apart through the pre-activation that is not drawn', () => {
    const breakdown = trace(flow, 'l0.forget', 0, 1)
    // block 1 begins at row 2: W row 2 · (3, 4) + U row 2 · (0.5, 0.25) + 10
    expect(breakdown.shares.map(({ values }) => [...values])).toEqual([
      [3, 8],
      [0.25, 0],
    ])
    expect([breakdown.bias, breakdown.total, breakdown.pre, breakdown.through]).toEqual([10, 21.25, 0, 'sigmoid'])
    expect(breakdown.recomputed).toBeCloseTo(1 / (1 + Math.exp(-21.25)), 12)
    expect(largest(flow, breakdown, 1, 2)).toEqual({
      first: [
        { node: 'embedding', dim: 1, share: 8, value: 4 },
        { node: 'embedding', dim: 0, share: 3, value: 3 },
      ],
      others: 0.25,
      count: 1,
    })
  })

  it('shows factors of a product, and words through their own row of the decoder', () => {
    const breakdown = trace(flow, 'l0.hidden', 1, 1)
    expect([breakdown.how, breakdown.total]).toEqual(['product', 4])
    const word = trace(flow, 'softmax', 0, 0)
    expect([word.total, word.through]).toEqual([2, 'softmax'])
    expect(word.recomputed).toBeCloseTo(Math.exp(2 - 2.5), 6)
  })

  it('says when weights are not there', () => {
    const view = small()
    delete view.arrays['b']
    ;(view.properties['operations'] as { bias?: string }[])[0].bias = undefined
    expect(trace(readLstm(view), 'l0.forget', 0, 0).missing).toMatch('too large')
  })
})

describe('the widget', () => {
  it('has its name on two lines where one is too short', () => {
    expect([lined('added to the cell', 20), lined('added to the cell', 12), lined('candidate', 5)]).toEqual([
      ['added to the cell'],
      ['added to', 'the cell'],
      ['candidate'],
    ])
  })

  it('puts zero on the left edge when all is positive, and inside the box otherwise', () => {
    const order = orderOf([1, 2])
    expect(drawn([1, 2], 90, 70, order).zero).toBe(-0)
    expect(drawn([-1, 2], 90, 70, order).zero).toBe(30)
    expect(drawn([-1, -2], 90, 70, order).zero).toBe(90)
    expect(drawn([0, 0], 90, 70, order).zero).toBe(45)
  })

  it('keeps the order of short vectors and sorts long ones', () => {
    expect([...orderOf([3, 1, 2])]).toEqual([0, 1, 2])
    const long = Float32Array.from({ length: STRIP }, (_, i) => (i === 5 ? 9 : -i))
    const order = orderOf(long)
    expect([order[0], order[STRIP - 1]]).toEqual([5, STRIP - 1])
    const box = drawn(long, 90, 64, order)
    expect(dimensionAt(box, 0, 64)).toBe(5)
    expect(dimensionAt(box, 64, 64)).toBe(STRIP - 1)
  })

  it('sorts as a comparison does: negative values, zeros of both signs and equal values', () => {
    const values = Float32Array.from({ length: 700 }, (_, i) => [0, -0, 2.5, -2.5, 1e30, -1e-30][i % 6] * ((i * 7919) % 13))
    const plain = [...values.keys()].sort((a, b) => values[b] - values[a] || a - b)
    expect([...orderOf(values)]).toEqual(plain)
  })

  it('loses no value when many share a line of pixels', () => {
    const long = new Float32Array(1000)
    long[700] = 5
    expect(drawn(long, 100, 50, orderOf(long)).path).toContain('H100.0')
  })

  it('draws contributions from the middle, negative ones to the left', () => {
    const box = drawn([1, 2], 100, 20, orderOf([1, 2]))
    expect(overlaid([-1, 0], box, 100, 20, 2)).toContain('M50.0 3.4H25.0')
  })

  it('draws gates of 1, 0.5 and nearly 0 as long as they are, and other boxes full', () => {
    const ends = [1, 0.5, 2e-9].map((gate) => {
      const values = [gate, gate]
      return Number(/H([\d.]+)/.exec(drawn(values, 100, 20, orderOf(values), false, [0, 1]).path)![1])
    })
    expect(ends).toEqual([100, 50, 0])
    expect(drawn([2e-9, 1e-9], 100, 20, orderOf([1, 2])).path).toContain('H100.0')
    const { nodes } = readLstm(small())
    expect([boundsOf(nodes.get('l0.forget')!), boundsOf(nodes.get('l0.hidden')!)]).toEqual([[0, 1], null])
    expect(summary([3, -1, 1])).toEqual([-1, 1, 3])
  })

  it('finds the k largest by size', () => {
    expect(strongest([1, -5, 3, 4, -2], 3)).toEqual([1, 3, 2])
    expect(strongest([1], 3)).toEqual([0])
    expect(bend(-9, true)).toBe(-3)
  })
})

describe('halves', () => {
  it('reads what Python writes', () => {
    const bytes = new Uint8Array([0x00, 0x3c, 0x00, 0xc0, 0x55, 0x35, 0x01, 0x00, 0xff, 0x7b, 0x00, 0x00])
    const [one, minus, third, tiny, most, zero] = fromHalves(bytes)
    expect([one, minus, tiny, most, zero]).toEqual([1, -2, 2 ** -24, 65504, 0])
    expect(third).toBeCloseTo(1 / 3, 3)
  })
})

/** One layer of two heads over one token and two dimensions. */
function stream(post: boolean): View {
  const halves = (values: number[]) =>
    new Uint8Array(Uint16Array.from(values.map((value) => ({ 0: 0, 1: 0x3c00, 2: 0x4000 })[value]!)).buffer)
  return {
    kind: 'flow',
    properties: {
      title: '',
      subtitle: '',
      model: 'decoder',
      tokens: ['a'],
      words: ['x', 'y'],
      layers: 1,
      alarms: [],
      quality: [],
      notes: [],
      heads: 2,
      dims: 2,
      post_norm: post,
      choices: 1,
      sums: true,
    },
    arrays: {
      lens: whole([3, 1, 1], [0, 1, 0]),
      lens_values: array([3, 1, 1], [1, 1, 1]),
      stream: array([3, 1, 2], [1, 0, 4, 4, 5, 4]),
      mlp: array([1, 1, 2], [1, 0]),
      bias: array([1, 2], [0, 1]),
      neurons: whole([1, 1, 1, 1], [3]),
      neuron_values: array([1, 1, 1, 1], [1]),
      looked: whole([1], [0]),
      attention: { shape: [1, 2, 1, 1, 2], data: halves([1, 1]) },
      part_total_heads: array([1, 1, 1, 2], [1, -2]),
      part_total_mlp: array([1, 1, 1], [3]),
      log_chance: array([1, 1], [Math.log(0.8)]),
      part_log_chance_heads: array([1, 1, 1, 2], [0.4, 0.9].map(Math.log)),
      part_log_chance_mlp: array([1, 1, 1], [Math.log(0.25)]),
      choices: whole([1, 1], [0]),
      route_heads: whole([2, 4], [0, 1, 0, 0, 0, 0, 0, 0]),
      route_importance: array([2], [0.3, 0.1]),
      route_mlps: array([1, 1], [0.5]),
      route_residual: array([3, 1], [NaN, 0.6, 0.5]),
      sources: { shape: [1, 1, 1, 2, 1, 2], data: halves([2, 1]) },
      part_heads: array([1, 1, 1, 2], [2, 1]),
      part_mlp: array([1, 1, 1], [1]),
      part_bias: array([1, 1, 1], [0.5]),
      part_embedding: array([1, 1, 1], [3]),
      part_constant: array([1, 1], [0.25]),
      score: array([1, 1], [7.75]),
      norm_factor: array([2, 1], [2, 1]),
      norm_gain: array([2, 2], [1, 1, 1, 1]),
      norm_shift: array([2, 2], [0, 0.5, 0, 0]),
    },
    later: { heads_0: () => Promise.resolve({ shape: [2, 1, 2, 2], data: halves([1, 1, 2, 2]) }) },
  }
}

describe('the stream', () => {
  it('adds up heads, biases and MLP to the next node, and all the way back', async () => {
    const read = readStream(stream(false))
    expect(read.headsNow(0)).toBe(undefined)
    const heads = await read.headsOf(0)
    expect(read.headsNow(0)).toBe(heads)
    const sum = blockSum(read, heads, 1, 0, 1)
    expect(sum.parts.map(({ name, share }) => [name, share])).toEqual([
      ['embedding', 0],
      ['head 0.0', 1],
      ['head 0.1', 2],
      ['bias of layer 0', 1],
    ])
    expect([sum.total, sum.value]).toEqual([4, 4])
    const all = await wholeSum(read, 2, 0, 0)
    expect([all.total, all.value, all.parts.length]).toEqual([5, 5, 4])
  })

  it('sends summands through a norm with its scale frozen', async () => {
    const read = readStream(stream(true))
    const sum = blockSum(read, await read.headsOf(0), 1, 0, 1)
    // (x − mean x) · 2 for the embedding (1, 0) and the bias (0, 1), nothing for heads of equal values
    expect(sum.parts.map(({ share }) => share)).toEqual([-1, 0, 0, 1])
    expect([sum.constant, sum.normed]).toEqual([0.5, true])
  })

  it('follows the edges above a threshold', () => {
    const read = readStream(stream(false))
    const path = pathTo(read, 0, 0.05)
    expect(path.edges).toHaveLength(1)
    expect(path.edges[0].heads.map(({ head }) => head)).toEqual([1, 0])
    expect(path.edges[0].importance).toBeCloseTo(0.4)
    expect(pathTo(read, 0, 0.2).edges[0].heads).toHaveLength(1)
    expect(pathTo(read, 0, 0.4)).toMatchObject({ edges: [], mlps: [{ layer: 0, token: 0 }] })
  })

  it('adds the parts of a score to the score', () => {
    const read = readStream(stream(false))
    expect(scoreOf(read, 0, 0)).toMatchObject({ total: 7.75, score: 7.75, most: 2, mostTotal: 3 })
    // a word less itself is nothing, in every part
    expect(scoreOf(read, 0, 0, 0)).toMatchObject({ total: 0, score: 0 })
    // by what the log-probability loses, 1.2, 0.7 and −0.1, though the logit loses −2 without head 0.1 and 1 without head 0.0
    expect(ranked(read, scoreOf(read, 0, 0)).map(({ head }) => head)).toEqual([-1, 0, 1])
    expect(scoreOf(read, 0, 0).mostLost).toBeCloseTo(Math.log(0.8 / 0.25))
    expect([...sourcesOf(read, 0, 0, 0, 1)!]).toEqual([1])
  })
})

it('makes words readable', () => {
  expect([' the', ' ', '', '\n', 'a\nb'].map(shownWord)).toEqual(['the', '␣', '∅', '⏎', 'a⏎b'])
})

describe('why a word is said', () => {
  it('names what its chance would miss most, what holds it back, what any other part does, and since when a lens reads it', () => {
    const read = readStream(stream(false))
    const lines = inShort(read, 0, 0, scoreOf(read, 0, 0), 'lens')
    expect(lines.map(({ text }) => text)).toEqual([
      'head 0.0 raises it: without it the chance is 40.0 %.',
      'MLP 0 adds what it has learned to go with what stands there: without it the chance is 25.0 %.',
      'head 0.1 holds it back most: without it the chance is 90.0 %.',
      'To compare: without one head or another the chance is 65.0 % (median of 2, from 40.0 % to 90.0 %).',
      'From layer 0 on, the logit lens reads “x” as the first word.',
    ])
    expect(lines[2].part).toEqual({ layer: 0, head: 1 })
  })

  it('ranks by the chance, whatever the logit does, and does not name a part without which the chance hardly moves', () => {
    const view = stream(false)
    // both logits move far: those of all words do
    view.arrays['part_total_heads'].data.set([9, -9])
    view.arrays['part_log_chance_heads'].data.set([0.79, 0.81].map(Math.log))
    const read = readStream(view)
    const score = scoreOf(read, 0, 0)
    const told = inShort(read, 0, 0, score, 'lens').map(({ text }) => text)
    expect(told[0]).toBe('No single head makes up a tenth of the chance.')
    expect(told.some((text) => text.includes('holds it back'))).toBe(false)
    expect(ranked(read, score)[0]).toEqual({ layer: 0, head: -1 })
  })

  it('says which word comes first without a part', () => {
    const view = stream(false)
    view.arrays['without_heads'] = whole([1, 1, 2], [0, -1])
    view.arrays['without_heads_chance'] = array([1, 1, 2], [0.6, NaN])
    view.arrays['without_mlp'] = whole([1, 1], [1])
    view.arrays['without_mlp_chance'] = array([1, 1], [0.5])
    const read = readStream(view)
    expect(firstWithout(read, 0, { layer: 0, head: 1 })).toBe(null)
    expect(firstWithout(read, 0, { layer: 0, head: -1 })).toEqual({ word: 'y', chance: 0.5 })
    const told = inShort(read, 0, 0, scoreOf(read, 0, 0), 'lens').map(({ text }) => text)
    expect(told[0]).toBe('head 0.0 raises it: without it the chance is 40.0 %; it still comes first.')
    expect(told[1]).toContain('the chance is 25.0 %; “y” comes first, with 50.0 %.')
  })

  it('does not credit a word to a part without which no likely word is left, and scales by the others', () => {
    const view = stream(false)
    view.arrays['part_log_chance_mlp'].data[0] = Math.log(0.001)
    const read = readStream(view)
    expect(needed(read, 0, { layer: 0, head: -1 })).toBe(true)
    const score = scoreOf(read, 0, 0)
    expect(score.mostLost).toBeCloseTo(Math.log(2))
    expect(inShort(read, 0, 0, score, 'lens')[1].text).toBe('MLP 0 is needed for whatever is said: without it the chance is 0.10 %.')
  })

  it('names the token of a head’s thickest line, and its number where another is written alike', () => {
    const view = stream(false)
    view.properties['tokens'] = [' a', ' b', ' b', ' c']
    view.arrays['route_heads'] = whole([4, 4], [0, 1, 0, 3, 0, 1, 2, 3, 0, 1, 1, 3, 0, 1, 3, 3])
    view.arrays['route_importance'] = array([4], [0.5, 0.06, 0.04, 0.3])
    const read = readStream(view)
    // neither the first token nor itself, which most heads read
    expect(readBy(read, 3, { layer: 0, head: 1 })).toBe(2)
    expect([tokenNamed(read, 2), tokenNamed(read, 3), numberOf(read, 1)]).toEqual(['“b” (token 2)', '“c”', '1'])
  })

  it('says that a head reads a token only where that has most of its weight, and else how much it has', () => {
    const view = stream(false)
    view.properties['tokens'] = [' a', ' on', ' c', ' d']
    const said = (weights: number[]) => {
      view.arrays['attention'] = array([1, 1, 1, 4], weights)
      return looksAt({ ...readStream(view), place: () => 0 }, 3, { layer: 0, head: 0 })
    }
    expect(said([0.1, 0.7, 0.1, 0.1])).toBe('reads “on” (70.0 % of its weight)')
    expect(said([0.1, 0.1, 0.1, 0.7])).toBe('reads its own token (70.0 % of its weight)')
    expect(said([0.28, 0.3, 0.22, 0.2])).toBe('looks at many tokens, most at “on” (30.0 %)')
    expect(said([0.6, 0.3, 0.1, 0])).toBe('rests on the first token (60.0 %) and looks most at “on” (30.0 %)')
    expect(said([0.9, 0.05, 0.05, 0])).toBe('')
    expect(said([1, 0, 0, 0])).toBe('')
  })

  it('says that later parts raise the word where a head adds little itself', () => {
    const view = stream(false)
    view.arrays['part_heads'].data[0] = 0.1
    view.arrays['part_total_heads'].data[0] = 2
    const read = readStream(view)
    expect(inShort(read, 0, 0, scoreOf(read, 0, 0), 'lens')[0].text).toBe(
      'head 0.0 raises it through later parts: without it the chance is 40.0 %.',
    )
  })

  it('says in the sentence of how many parts and tokens it speaks where not all were looked at', () => {
    const view = stream(false)
    view.arrays['part_log_chance_mlp'].data[0] = Math.log(0.001)
    const read = { ...readStream(view), layers: 2, tokens: ['a', 'b', 'c'] }
    const sparse = (values: Float32Array) => Float32Array.from([...values, NaN, NaN].slice(0, 2 * values.length))
    const score = scoreOf(readStream(view), 0, 0)
    for (const name of ['lostHeads', 'lostMlp', 'totalHeads', 'totalMlp', 'heads', 'mlp'] as const) score[name] = sparse(score[name])
    for (const name of ['part_log_chance_heads', 'part_log_chance_mlp']) {
      const { shape, data } = view.arrays[name]
      read.arrays[name] = { shape: [1, 1, 2, ...shape.slice(3)], data: sparse(data as Float32Array) }
    }
    const told = inShort(read, 0, 0, score, 'lens').map(({ text }) => text)
    expect(told.find((text) => text.startsWith('To compare'))).toContain('(median of 2 that were tried, of 4, from 40.0 % to 90.0 %)')
    score.lostHeads.fill(0.01)
    expect(inShort(read, 0, 0, score, 'lens')[0].text).toBe('No single head makes up a tenth of the chance.')
    score.lostHeads.fill(NaN, 2)
    expect(inShort(read, 0, 0, score, 'lens')[0].text).toBe(
      'No single head of the 2 that were tried, of 4, makes up a tenth of the chance.',
    )
  })

  it('says why one word leads another, whichever is first', () => {
    const view = stream(false)
    view.properties['choices'] = 2
    const two = (name: string, shape: number[], values: number[]) => (view.arrays[name] = array(shape, values))
    view.arrays['choices'] = whole([1, 2], [0, 1])
    two('part_total_heads', [1, 2, 1, 2], [1, -2, 0, 0])
    two('part_total_mlp', [1, 2, 1], [3, 0])
    two('log_chance', [1, 2], [-0.2, -3])
    two('part_log_chance_heads', [1, 2, 1, 2], [-0.9, -0.1, -1, -1])
    two('part_log_chance_mlp', [1, 2, 1], [-1.4, -1])
    two('part_heads', [1, 2, 1, 2], [2, 1, 0, 0])
    two('part_mlp', [1, 2, 1], [1, 0])
    two('part_bias', [1, 2, 1], [0.5, 0])
    two('part_embedding', [1, 2, 1], [3, 0])
    two('part_constant', [1, 2], [0.25, 0])
    two('score', [1, 2], [7.75, 0])
    const read = readStream(view)
    const told = whyRather(read, 0, 0, 1, scoreOf(read, 0, 0, 1))
    expect(told.title).toBe('Why “x” rather than “y”?')
    expect(told.lines.map(({ text }) => text)).toEqual([
      'The logit of “x” is 7.8 above that of “y”.',
      'head 0.0 speaks for “x”: without it the lead is 1.0 smaller.',
      'MLP 0 speaks for “x”: without it the lead is 3.0 smaller.',
      'head 0.1 speaks for “y”: without it the lead is 2.0 larger.',
    ])
    expect(whyRather(read, 0, 1, 0, scoreOf(read, 0, 1, 0))).toEqual(told)
  })

  it('says what parts add themselves where nothing was taken away, and nothing where neither is known', () => {
    const view = stream(false)
    view.arrays['part_total_heads'].data.fill(NaN)
    view.arrays['part_total_mlp'].data.fill(NaN)
    for (const name of ['log_chance', 'part_log_chance_heads', 'part_log_chance_mlp']) view.arrays[name].data.fill(NaN)
    const read = readStream(view)
    expect(inShort(read, 0, 0, scoreOf(read, 0, 0), 'lens')[0].text).toBe('head 0.0 raises it: it adds +2.0 to the logit.')
    expect(inShort({ ...read, sums: false }, 0, 0, scoreOf(read, 0, 0), 'lens')).toEqual([])
  })
})

describe('figures', () => {
  it('gives numbers that are added the decimals of the largest', () => {
    const show = aligned(-12.3456)
    expect([-12.3456, 0.5, 0.0004, -0.0004].map(show)).toEqual(['−12.35', '0.50', '0.00', '0.00'])
    expect(aligned(0.0001)(0.00012)).toBe('0.00012')
    expect(aligned(22552)(22552.3)).toBe('22,552')
  })

  it('gives chances as percentages that say what is known', () => {
    expect([0.39114, 0.0764, 0.00999, 0.00764, 0.0000004, 0, 1, NaN].map(percent)).toEqual([
      '39.1 %',
      '7.6 %',
      '1.0 %',
      '0.76 %',
      '< 0.01 %',
      '0 %',
      '100 %',
      '–',
    ])
    expect([agreement(0), agreement(4.1e-9), agreement(0.04), agreement(-7)]).toEqual([
      'the same to 12 decimals',
      'the same to 8 decimals',
      'the same to 1 decimal',
      '7 apart',
    ])
    expect([plain(0), plain(3.25e-5), plain(-3.25e-5), plain(0.25)]).toEqual(['0', '< 0.001', '> −0.001', '0.250'])
    expect(aligned(3.4e-5)(3.4e-5)).toBe('0.000034')
  })
})

describe('names on the path', () => {
  it('stand within their room, and leave some for the count of the rest', () => {
    expect(fitting(['MLP 0', '0.1'], 100)).toBe(2)
    expect(fitting(['MLP 0', '0.1', '0.2', '0.3'], 60)).toBe(1)
    expect(fitting(['MLP 10'], 20)).toBe(0)
    expect(restOf(['MLP 0'], 3, 110)).toBe('and 3 more')
    expect(restOf(['MLP 0'], 3, 60)).toBe('…')
    expect([restOf([], 4, 60), restOf([], 1, 60)]).toEqual(['4 parts', '1 part'])
  })
})
