import t from 'tap'
import { acceptsStream } from '../../src/event/accepts-stream.ts'

t.test('Accept decides between a stream and a list', async (t) => {
  const streams = [
    'text/event-stream',
    'Text/Event-Stream',
    'text/event-stream;q=0.1',
    'text/event-stream, application/json;q=0.9',
    'text/event-stream, */*',
    'text/event-stream;q=0.5, application/json;q=0.4, */*;q=0.9',
    'application/json;q=0, text/*',
    'text/html, text/*;q=0.2',
  ]
  const lists = [
    undefined,
    '',
    '*/*',
    'application/json',
    'text/html',
    'text/html, */*;q=0.1',
    'text/event-stream, application/json',
    'text/event-stream;q=0.5, */*;q=0.8',
    'text/event-stream;q=0',
    'text/event-stream;q=0, text/*',
    'text/event-stream;q=high',
    'text/event-streams',
    'application/*, text/*;q=0.9',
  ]
  for (const accept of streams) t.equal(acceptsStream(accept), true, accept)
  for (const accept of lists) t.equal(acceptsStream(accept), false, String(accept))
})
