/** The rooms in their order; `ask` names the computation whose result a room shows. */
export interface RoomName {
  name: string
  title: string
  ask: string | null
  /** What the room is for, in one line. */
  about: string
}

export const ROOMS: RoomName[] = [
  { name: 'atlas', title: 'Atlas', ask: 'atlas', about: 'Every attention head of a model over your text, ranked.' },
  { name: 'head', title: 'Head', ask: 'atlas', about: 'One head: its map of tokens, its matrix, its lines.' },
  { name: 'queries', title: 'Queries & keys', ask: 'query_key', about: 'A head’s queries and keys on one map: close means attention.' },
  { name: 'words', title: 'Words', ask: 'words', about: 'Word vectors as a map, with new words placed live.' },
  { name: 'distributions', title: 'Distributions', ask: 'gaussians', about: 'Words as distributions: where they lie and how wide they are.' },
  { name: 'flow', title: 'Flow', ask: 'flow', about: 'What flows through a network as it reads, step by step.' },
  { name: 'compare', title: 'Compare', ask: 'compare', about: 'Two texts or two models side by side, aligned; what moved most.' },
  { name: 'jobs', title: 'Jobs', ask: null, about: 'Everything that is or was computed.' },
]

export function roomOf(ask: string): RoomName | undefined {
  return ROOMS.find((room) => room.ask === ask)
}
