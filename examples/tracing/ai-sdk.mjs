// The Vercel AI SDK 7 records spans of OpenTelemetry once its integration is registered. Up to version 6, it does so in calls
// with `experimental_telemetry: { isEnabled: true }`, without @ai-sdk/otel.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenTelemetry } from '@ai-sdk/otel';
import { startTracing, withTrace } from 'agent-registry/otel';
import { registerTelemetry, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

startTracing({ serviceName: 'support' });
registerTelemetry(new OpenTelemetry());

const { OPENAI_BASE_URL, OPENAI_API_KEY: apiKey, MODEL = 'gpt-5-mini' } = process.env;
const baseURL = OPENAI_BASE_URL ?? 'https://api.openai.com/v1';
const openai = createOpenAICompatible({ name: 'openai', baseURL, apiKey, includeUsage: true });

const lookup_order = tool({
  description: 'Looks up the state of an order.',
  inputSchema: z.object({ order_id: z.number() }),
  execute: ({ order_id }) => ({ order_id, state: 'shipped' }),
});

await withTrace({ userId: 'ada', sessionId: 'ai-sdk-1', tags: ['example'] }, async () => {
  const { textStream } = streamText({
    model: openai(MODEL),
    instructions: 'Answer in one sentence.',
    prompt: 'Where is order 7?',
    tools: { lookup_order },
    stopWhen: stepCountIs(5),
  });
  for await (const text of textStream) process.stdout.write(text);
});
