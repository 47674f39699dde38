import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider that responds to each chat completion immediately, plain or in 50 events. */

const usage = { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 };
const common = { id: 'chatcmpl-1', created: 1, model: 'gpt-4o-mini' };
const plain = Buffer.from(
  JSON.stringify({
    ...common,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'word '.repeat(100) }, finish_reason: 'stop' },
    ],
    usage,
  }),
);

const eventOf = (choices: object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
const stream = Buffer.from(
  [
    ...Array.from({ length: 50 }, () =>
      eventOf([{ index: 0, delta: { content: 'word word ' }, finish_reason: null }]),
    ),
    eventOf([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    eventOf([], { usage }),
    'data: [DONE]\n\n',
  ].join(''),
);

const JSON_HEADERS = { 'Content-Type': 'application/json', 'Content-Length': plain.length };

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    const isStream = body.includes('"stream":true');
    // like those of real providers, a stream has no length
    if (isStream) response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(stream);
    else response.writeHead(200, JSON_HEADERS).end(plain);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
