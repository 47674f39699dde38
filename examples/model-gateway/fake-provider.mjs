// Stands in for a provider of models with OpenAI's API, for a judge, and for an API of orders. See
// docs/guides/call-models-and-apis.md. `gpt-4o` is always overloaded; every other model answers.
import { createServer } from 'node:http';

const KEY = 'sk-fake';

/** The answer of a judge that always agrees, in the form that the service asks for: the best value of each member. */
const judgement = ({ properties }) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, bestOf(name, schema)]));

const bestOf = (name, schema) => {
  if (name === 'reasoning') return 'It is fine.';
  if (schema.type === 'object') return judgement(schema);
  return schema.enum?.[0] ?? (schema.type === 'boolean' ? true : (schema.maximum ?? 1));
};

const server = createServer(async (request, response) => {
  const text = (await request.toArray()).join('');
  const { model, stream, response_format } = text ? JSON.parse(text) : {};
  const send = (status, body) => response.writeHead(status).end(JSON.stringify(body));
  response.setHeader('Content-Type', 'application/json');
  if (request.headers.authorization !== `Bearer ${KEY}`)
    return send(401, { error: { message: 'wrong key' } });
  if (request.method === 'GET') return send(200, { orders: [{ order_id: 7, state: 'shipped' }] });
  if (model === 'gpt-4o') return send(503, { error: { message: 'gpt-4o is overloaded' } });
  const content = response_format
    ? JSON.stringify(judgement(response_format.json_schema.schema))
    : 'Order 7 has shipped.';
  const usage = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };
  const answer = (object, choice) => ({ id: 'fake-1', object, created: 0, model, choices: [choice], usage });
  const message = { role: 'assistant', content };
  if (!stream) return send(200, answer('chat.completion', { index: 0, message, finish_reason: 'stop' }));
  response.setHeader('Content-Type', 'text/event-stream');
  const chunk = answer('chat.completion.chunk', { index: 0, delta: message, finish_reason: 'stop' });
  response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
});
const port = Number(process.env.FAKE_PORT ?? 9100);
server.on('error', ({ code, message }) => {
  console.error(code === 'EADDRINUSE' ? `Port ${port} is in use. Set FAKE_PORT.` : message);
  process.exitCode = 1;
});
server.listen(port, '127.0.0.1', () =>
  console.log(`The fake provider listens at http://127.0.0.1:${server.address().port}/v1`),
);
