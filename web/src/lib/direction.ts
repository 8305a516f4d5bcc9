const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const LETTER = /\p{L}/u

/** Which way tokens are read: from the right where most of those with letters are of such a script. */
export function directionOf(tokens: readonly string[]): 'ltr' | 'rtl' {
  const written = tokens.filter((token) => LETTER.test(token) && !/^[[<].*[\]>]$/.test(token))
  return written.filter((token) => RIGHT_TO_LEFT.test(token)).length > written.length / 2 ? 'rtl' : 'ltr'
}
