// LangChain and LangGraph record spans with the instrumentation of OpenInference, which does not make them OpenTelemetry's active
// spans. `observe` gives each turn a span that everything belongs to, also the spans that tools start.
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { ChatOpenAI } from '@langchain/openai';
import { observe, startTracing, withTrace } from 'agent-registry/otel';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

startTracing({ serviceName: 'support' });
new LangChainInstrumentation().manuallyInstrument(callbackManager);

const lookupOrder = tool(({ order_id }) => ({ order_id, state: 'shipped' }), {
  name: 'lookup_order',
  description: 'Looks up the state of an order.',
  schema: z.object({ order_id: z.number() }),
});
const agent = createAgent({
  name: 'support',
  model: new ChatOpenAI({ model: process.env.MODEL ?? 'gpt-5-mini' }),
  systemPrompt: 'Answer in one sentence.',
  tools: [lookupOrder],
});

const answer = observe(
  async function answer(question) {
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: question }] });
    return messages.at(-1).content;
  },
  { kind: 'agent' },
);

const turn = { userId: 'ada', sessionId: 'langchain-1', tags: ['example'] };
console.log(await withTrace(turn, () => answer('Where is order 7?')));
