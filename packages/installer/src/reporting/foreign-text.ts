/**
 * One line of a text that a stranger wrote: a description, a publisher, a message of another server.
 * Control, formatting and unassigned characters and line ends become blanks, so that it can neither
 * print a line that reads as ours nor turn the direction of one.
 * @param most the most characters; a longer text ends with an ellipsis
 */
export function foreignText(text: string, most = 200): string {
  // A character has up to two code units, and what is cut off need not be read.
  const line = text
    .slice(0, 10 * most)
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim()
  const characters = Array.from(line)
  return characters.length <= most && text.length <= 10 * most
    ? line
    : `${characters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`
}

/** Escapes in JSON what a terminal would act on: C1 and bidirectional characters too. */
export const escaped = (json: string) =>
  json.replace(/[^\P{Cc}\n]|\p{Cf}|\p{Zl}|\p{Zp}/gu, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
