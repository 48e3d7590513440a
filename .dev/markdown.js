// What the scripts that write pages share.

/** As Markdown that shows the text as it is. */
export function escaped(text) {
  return text.replace(/[<|*\\]/g, '\\$&')
}

export function table(head, rows) {
  const [first, ...others] = [head, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`)
  return [first, `|${'---|'.repeat(head.length)}\n`, ...others].join('')
}
