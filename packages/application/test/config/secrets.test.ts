import t from 'tap'
import { formatSecrets, parseSecrets } from '../../src/config/secrets.ts'

const until = Date.parse('2030-01-01T00:00:00.000Z')
const secrets = {
  secret: Buffer.from('the present secret, of 32 bytes.'),
  previousSecrets: [{ secret: Buffer.from('the one before'), until }],
}

t.test('secrets are read as they were written', async (t) => {
  t.strictSame(parseSecrets(formatSecrets(secrets)), secrets)
})
