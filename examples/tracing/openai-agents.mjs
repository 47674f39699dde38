// The OpenAI Agents SDK has traces of its own, which the processor records as spans. Without it, they go to OpenAI.
import { Agent, run, setTraceProcessors, tool } from '@openai/agents';
import { openAIAgentsProcessor, startTracing, withTrace } from 'agent-registry/otel';
import { z } from 'zod';

startTracing({ serviceName: 'support' });
setTraceProcessors([openAIAgentsProcessor()]);

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Looks up the state of an order.',
  parameters: z.object({ order_id: z.number() }),
  execute: ({ order_id }) => ({ order_id, state: 'shipped' }),
});
const agent = new Agent({
  name: 'support',
  instructions: 'Answer in one sentence.',
  model: process.env.MODEL ?? 'gpt-5-mini',
  tools: [lookupOrder],
});

const { finalOutput } = await withTrace(
  { userId: 'ada', sessionId: 'openai-agents-1', tags: ['example'] },
  () => run(agent, 'Where is order 7?'),
);
console.log(finalOutput);
