// Stands in for a provider of models with OpenAI's API, for a judge, and for an API of orders. See
// docs/guides/call-models-and-apis.md. `gpt-4o` is always overloaded; every other model answers, and calls the first tool that
// it is offered once, for order 7.
import { createServer } from 'node:http';

let answers = 0;
const KEY = 'sk-fake';

/** The answer of a judge that always agrees, in the form that the service asks for: the best value of each member. */
const judgement = ({ properties }) =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, bestOf(name, schema)]));

const bestOf = (name, schema) => {
  if (name === 'reasoning') return 'It is fine.';
  if (schema.type === 'object') return judgement(schema);
  return schema.enum?.[0] ?? (schema.type === 'boolean' ? true : (schema.maximum ?? 1));
};

/** Returns whether a conversation, of chat completions or responses, has the result of a tool. */
const hasToolResult = (messages) =>
  messages.some(({ role, type }) => role === 'tool' || type === 'function_call_output');

/** Returns an answer in the form of the Responses API. */
function toResponse(model, message, [call]) {
  const output = call
    ? { type: 'function_call', id: 'fc_1', call_id: call.id, status: 'completed', ...call.function }
    : {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: message.content, annotations: [] }],
      };
  const usage = { input_tokens: 1000, output_tokens: 500, total_tokens: 1500 };
  return { id: 'resp_1', object: 'response', status: 'completed', model, output: [output], usage };
}

const server = createServer(async (request, response) => {
  const text = (await request.toArray()).join('');
  const { model, stream, response_format, tools, messages, input } = text ? JSON.parse(text) : {};
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
  const calls =
    tools && !hasToolResult(messages ?? input)
      ? [
          {
            id: 'call_1',
            type: 'function',
            function: { name: (tools[0].function ?? tools[0]).name, arguments: '{"order_id":7}' },
          },
        ]
      : [];
  const answer = (object, choice) => ({
    id: `fake-${++answers}`,
    object,
    created: 0,
    model,
    choices: [choice],
    usage,
  });
  const message =
    calls.length > 0 ? { role: 'assistant', tool_calls: calls } : { role: 'assistant', content };
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  if (request.url.endsWith('/responses')) return send(200, toResponse(model, message, calls));
  if (!stream) return send(200, answer('chat.completion', { index: 0, message, finish_reason }));
  response.setHeader('Content-Type', 'text/event-stream');
  message.tool_calls?.forEach((call, index) => (call.index = index));
  const chunk = answer('chat.completion.chunk', { index: 0, delta: message, finish_reason });
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
