import t from 'tap'
import { parsePostgresUrl } from '../../src/postgres/postgres-url.ts'

const UNSET = { connectTimeout: undefined, applicationName: undefined, requiresChannelBinding: false }

t.test('a URL has everything to connect, and a name without the password', async (t) => {
  t.strictSame(parsePostgresUrl('postgres://ann:p%40ss@127.0.0.1:5433/shop?schema=demo'), {
    servers: [{ host: '127.0.0.1', port: 5433, user: 'ann', password: 'p@ss', database: 'shop', ssl: false }],
    schema: 'demo',
    connectionLimit: 19,
    ...UNSET,
    name: 'the schema "demo" of postgres://127.0.0.1:5433/shop',
  })
  t.match(parsePostgresUrl('postgresql:///shop?host=/run/postgresql&connection_limit=5'), {
    servers: [{ host: '/run/postgresql', database: 'shop', ssl: false }],
    schema: 'mortise',
    connectionLimit: 5,
  })
})

t.test('a URL may name several servers, with whatever else it has', async (t) => {
  const url =
    'postgres://ann:p%40ss@db1.example,[::1]:5433/shop?sslmode=require&target_session_attrs=read-write'
  const rest = { user: 'ann', password: 'p@ss', database: 'shop', ssl: { rejectUnauthorized: false } }
  t.strictSame(parsePostgresUrl(url), {
    servers: [
      { host: 'db1.example', ...rest },
      { host: '::1', port: 5433, ...rest },
    ],
    schema: 'mortise',
    connectionLimit: 19,
    ...UNSET,
    name: 'the schema "mortise" of postgres://db1.example,[::1]:5433/shop',
  })
})

t.test('sslmode decides about TLS, and another machine needs that choice', async (t) => {
  const ssl = (parameters: string) =>
    parsePostgresUrl(`postgres://db.example/shop${parameters}`).servers[0]?.ssl
  t.equal(ssl('?sslmode=disable'), false)
  t.strictSame(ssl('?sslmode=require'), { rejectUnauthorized: false })
  t.equal(ssl('?sslmode=verify-full'), true)
  const file = `${t.testdir({ 'root.pem': 'a certificate' })}/root.pem`
  t.strictSame(ssl(`?sslrootcert=${file}`), { ca: 'a certificate' })
  t.throws(() => ssl(''), { message: /another machine \(db\.example\).*sslmode=verify-full/ })
  t.throws(() => ssl('?sslmode=prefer'), { message: /not one of disable, require, verify-full/ })
  t.throws(() => ssl('?sslrootcert=/nowhere.pem'), { message: /ENOENT/ })
})

t.test('the parameters of URLs that providers print are known', async (t) => {
  const url = 'postgres://ann:pw@db.example/shop?sslmode=require&connect_timeout=15&application_name=the+shop'
  t.match(parsePostgresUrl(`${url}&channel_binding=require`), {
    servers: [{ enableChannelBinding: true, ssl: { rejectUnauthorized: false } }],
    connectTimeout: 15_000,
    applicationName: 'the+shop',
    requiresChannelBinding: true,
  })
  t.match(parsePostgresUrl(`${url}&channel_binding=prefer`), {
    servers: [{ enableChannelBinding: true }],
    requiresChannelBinding: false,
  })
  t.equal(parsePostgresUrl('postgres:///shop?connect_timeout=0').connectTimeout, undefined)
  t.equal(parsePostgresUrl('postgres:///shop?connect_timeout=1').connectTimeout, 2000)
})

t.test('errors do not show the URL', async (t) => {
  for (const [url, message] of [
    ['postgres://u:secret@host:port/x', /must be a URL such as/],
    ['postgres://u:secret@localhost/x?schema=My-Shop', /the schema "My-Shop"/],
    ['postgres://u:secret@localhost/x?schema=pg_shop', /not "pg_…"/],
    ['postgres://u:secret@localhost/x?pool=3', /the parameter "pool", which is not one of schema/],
    ['postgres://u:secret@localhost/x?connection_limit=4', /"4": use a number from 5/],
    ['postgres://u:secret@localhost/x?connection_limit=ten', /the connection_limit "ten"/],
    ['postgres://u:secret@localhost,host:port/x', /must be a URL such as/],
    ['postgres://u:secret@localhost/x?target_session_attrs=any', /"any": only read-write is supported/],
    ['postgres://u:secret%@localhost/x', /a "%" in its password .* write % as %25/],
    ['postgres://u:secret#1@localhost/x', /write % as %25, @ as %40.*# as %23/],
    ['postgres://u:1#secret@localhost/x', /ends the password.*# as %23/],
    ['postgres://u:1?secret@localhost/x', /ends the password.*\? as %3F/],
    ['postgres://u:1/secret@localhost/x', /ends the password.*\/ as %2F/],
    ['postgres://u:secret@localhost/x?connect_timeout=soon', /"soon": use a number of seconds/],
    ['postgres://u:secret@localhost/x?channel_binding=yes', /"yes", which is not one of disable/],
    ['postgres://u:secret@localhost/x?channel_binding=require', /needs encryption: add sslmode/],
  ] as const) {
    const failed = () => parsePostgresUrl(url)
    t.throws(failed, { name: 'TypeError', message })
    t.throws(failed, { message: /^(?!.*secret)/ })
  }
})
