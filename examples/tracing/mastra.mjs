// Mastra records its spans with OpenTelemetry through its bridge.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelBridge } from '@mastra/otel-bridge';
import { startTracing, withTrace } from 'agent-registry/otel';
import { z } from 'zod';

startTracing({ serviceName: 'support' });

const { OPENAI_BASE_URL, OPENAI_API_KEY: apiKey, MODEL = 'gpt-5-mini' } = process.env;
const baseURL = OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
const openai = createOpenAICompatible({ name: 'openai', baseURL, apiKey, includeUsage: true });

const lookup_order = createTool({
  id: 'lookup_order',
  description: 'Looks up the state of an order.',
  inputSchema: z.object({ order_id: z.number() }),
  execute: async ({ order_id }) => ({ order_id, state: 'shipped' }),
});
const mastra = new Mastra({
  agents: {
    support: new Agent({
      id: 'support',
      name: 'support',
      instructions: 'Answer in one sentence.',
      model: openai(MODEL),
      tools: { lookup_order },
    }),
  },
  observability: new Observability({
    configs: { default: { serviceName: 'support', bridge: new OtelBridge() } },
  }),
});

const { text } = await withTrace({ userId: 'ada', sessionId: 'mastra-1', tags: ['example'] }, () =>
  mastra.getAgent('support').generate('Where is order 7?'),
);
console.log(text);
