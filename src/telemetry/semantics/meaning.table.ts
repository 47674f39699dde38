import { contentOf } from './content.parser';
import { dollarsOf, textOf, tokensOf } from './figure.parser';
import type { MeaningSource, MeaningTable } from './span-meaning.types';

/**
 * Where each field of a {@link SpanMeaning} stands in a span, in the order of preference. To know a further name, add
 * a row; to know a further field, add it to SpanMeaning and a rule here.
 *
 * The conventions:
 * - OpenTelemetry semantic conventions for generative AI, current names
 *   (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md and
 *   docs/registry/attributes/gen-ai.md), and the names they had up to version 1.36, which instrumentations go on
 *   sending (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/, "Deprecated GenAI Attributes").
 *   Messages were events of the span then (gen_ai.user.message, gen_ai.choice) and before that one event each
 *   (gen_ai.content.prompt, gen_ai.content.completion; version 1.27).
 * - OpenInference (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md), which flattens lists into
 *   attributes with an index (`llm.input_messages.0.message.role`).
 * - OpenLLMetry (https://github.com/traceloop/openllmetry, opentelemetry-semantic-conventions-ai), which flattened
 *   `gen_ai.prompt.0.content`, and before that wrote `llm.*`.
 * - AI SDK (https://ai-sdk.dev/docs/ai-sdk-core/telemetry), `ai.*`.
 *
 * Cost has no name in the OpenTelemetry conventions: `gen_ai.usage.cost` is what OpenLIT sends, `llm.cost.total` is
 * OpenInference, `operation.cost` is Pydantic AI and Logfire.
 *
 * Messages come before whole values: `input.value` of an OpenInference LLM span is the raw request with all its
 * parameters, `llm.input_messages` what was said. Tool calls come last, because only spans of tools have them.
 */
export const MEANING_TABLE: MeaningTable = {
  model: {
    as: textOf,
    sources: attributes(
      'gen_ai.response.model',
      'gen_ai.request.model',
      'llm.response.model_name', // OpenInference
      'llm.model_name',
      'llm.request.model_name',
      'embedding.model_name',
      'reranker.model_name',
      'llm.response.model', // OpenLLMetry, earlier
      'llm.request.model',
      'ai.response.model', // AI SDK
      'ai.model.id',
    ),
  },
  provider: {
    as: textOf,
    sources: attributes(
      'gen_ai.provider.name',
      'gen_ai.system', // up to 1.36
      'llm.provider', // OpenInference
      'llm.system',
      'llm.vendor', // OpenLLMetry, earlier
      'ai.model.provider', // AI SDK
    ),
  },
  operation: {
    as: textOf,
    sources: attributes(
      'gen_ai.operation.name',
      'openinference.span.kind',
      'traceloop.span.kind',
      'llm.request.type', // OpenLLMetry, earlier
      'ai.operationId', // AI SDK
    ),
  },
  inputTokens: {
    as: tokensOf,
    sources: attributes(
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens', // up to 1.26
      'llm.token_count.prompt', // OpenInference
      'llm.usage.prompt_tokens', // OpenLLMetry, earlier
      'ai.usage.inputTokens', // AI SDK
      'ai.usage.promptTokens',
    ),
  },
  outputTokens: {
    as: tokensOf,
    sources: attributes(
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens', // up to 1.26
      'llm.token_count.completion', // OpenInference
      'llm.usage.completion_tokens', // OpenLLMetry, earlier
      'ai.usage.outputTokens', // AI SDK
      'ai.usage.completionTokens',
    ),
  },
  costUsd: {
    as: dollarsOf,
    sources: attributes('gen_ai.usage.cost', 'llm.cost.total', 'operation.cost'),
  },
  sessionId: {
    as: textOf,
    sources: [
      ...attributes(
        'session.id', // OpenTelemetry (general) and OpenInference
        'gen_ai.conversation.id',
        'traceloop.association.properties.session_id',
        'ai.telemetry.metadata.sessionId', // AI SDK
      ),
      { from: 'resource', name: 'session.id' },
    ],
  },
  serviceName: {
    as: textOf,
    sources: [{ from: 'resource', name: 'service.name' }, ...attributes('service.name')],
  },
  input: {
    as: contentOf,
    sources: [
      ...attributes('gen_ai.input.messages'),
      { from: 'event', event: 'gen_ai.client.inference.operation.details', name: 'gen_ai.input.messages' },
      ...attributes('gen_ai.prompt'),
      { from: 'flattened', name: 'gen_ai.prompt', itemNames: [] },
      {
        from: 'messages',
        roles: {
          'gen_ai.system.message': 'system',
          'gen_ai.user.message': 'user',
          'gen_ai.assistant.message': 'assistant',
          'gen_ai.tool.message': 'tool',
        },
      },
      { from: 'event', event: 'gen_ai.content.prompt', name: 'gen_ai.prompt' },
      {
        from: 'flattened',
        name: 'llm.input_messages',
        itemNames: ['message', 'message_content', 'tool_call'],
      },
      { from: 'flattened', name: 'llm.prompts', itemNames: ['prompt'] },
      { from: 'attribute', name: 'input.value', mimeType: 'input.mime_type' },
      ...attributes('traceloop.entity.input', 'ai.prompt.messages', 'ai.prompt'),
      ...attributes('gen_ai.tool.call.arguments', 'ai.toolCall.args'),
    ],
  },
  output: {
    as: contentOf,
    sources: [
      ...attributes('gen_ai.output.messages'),
      { from: 'event', event: 'gen_ai.client.inference.operation.details', name: 'gen_ai.output.messages' },
      ...attributes('gen_ai.completion'),
      { from: 'flattened', name: 'gen_ai.completion', itemNames: [] },
      { from: 'messages', roles: { 'gen_ai.choice': 'assistant' } },
      { from: 'event', event: 'gen_ai.content.completion', name: 'gen_ai.completion' },
      {
        from: 'flattened',
        name: 'llm.output_messages',
        itemNames: ['message', 'message_content', 'tool_call'],
      },
      { from: 'flattened', name: 'llm.choices', itemNames: ['completion'] },
      { from: 'attribute', name: 'output.value', mimeType: 'output.mime_type' },
      ...attributes('traceloop.entity.output'),
      ...attributes('ai.response.text', 'ai.response.object', 'ai.response.toolCalls'),
      ...attributes('gen_ai.tool.call.result', 'ai.toolCall.result'),
    ],
  },
};

function attributes(...names: string[]): MeaningSource[] {
  return names.map((name) => ({ from: 'attribute', name }));
}
