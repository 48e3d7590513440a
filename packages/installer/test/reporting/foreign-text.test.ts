import t from 'tap'
import { foreignText } from '../../src/reporting/foreign-text.ts'

t.test('a foreign text is one line without control and formatting characters', async (t) => {
  t.equal(foreignText(' a\n\tb\u0007\u009b\u202e\u2028c '), 'a b c')
  t.equal(foreignText('größe 日本 😀'), 'größe 日本 😀')
})

t.test('a long text is cut between characters', async (t) => {
  t.equal(foreignText('😀'.repeat(200)), '😀'.repeat(200))
  t.equal(foreignText('😀'.repeat(201)), `${'😀'.repeat(199)}…`)
  t.equal(foreignText(`${' '.repeat(1e6)}end`), '…')
})
