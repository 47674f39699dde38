import { contentOf, instructedContentOf } from './content.parser';
import { dollarsOf, millisecondsOf, tagsOf, textOf, tokensOf } from './field.parser';
import type { Convention, MeaningSource, MeaningTable } from './span-meaning.types';

/** The attribute with the version of an agent. */
export const AGENT_VERSION = 'gen_ai.agent.version';

/** Events that recorded one message each (up to version 1.36), with the role of the message. */
const ROLES_OF_INPUT = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
};
export const ROLES_OF_OUTPUT = { 'gen_ai.choice': 'assistant' };

const OPERATION_DETAILS = 'gen_ai.client.inference.operation.details';

/** Names of the events that contain messages. Instrumentations send them as events of the span, or as log records. */
export const MESSAGE_EVENTS: readonly string[] = [
  OPERATION_DETAILS,
  ...Object.keys(ROLES_OF_INPUT),
  ...Object.keys(ROLES_OF_OUTPUT),
  'gen_ai.content.prompt',
  'gen_ai.content.completion',
];

/**
 * Where each field of a {@link SpanMeaning} may be found in a span, in the order of preference. To support another name,
 * add a row. To support another field, add it to SpanMeaning and a rule here. docs/reference/span-mapping.md documents the
 * same for users, and a test compares the two.
 *
 * The conventions:
 * - OpenTelemetry: its semantic conventions for generative AI, current names
 *   (https://github.com/open-telemetry/semantic-conventions-genai, docs/registry/attributes/gen-ai.md).
 * - OpenTelemetry, earlier: names up to version 1.36, which instrumentations still send
 *   (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/, "Deprecated GenAI Attributes"), and names
 *   that changed since (its CHANGELOG.md). Messages were events of the span (gen_ai.user.message, gen_ai.choice)
 *   and before that one event each (gen_ai.content.prompt, gen_ai.content.completion; version 1.27).
 * - OpenInference (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md), which flattens lists into
 *   attributes with an index (`llm.input_messages.0.message.role`).
 * - OpenLLMetry (https://github.com/traceloop/openllmetry, opentelemetry-semantic-conventions-ai, and its MIGRATION.md
 *   for the changes in 0.5), which flattened `gen_ai.prompt.0.content`, and earlier wrote `llm.*`.
 * - AI SDK (https://ai-sdk.dev/docs/ai-sdk-core/telemetry), `ai.*`; from version 7 on it writes OpenTelemetry's names, and
 *   `ai.telemetry.functionId` is now `gen_ai.agent.name`.
 * - Pydantic AI (https://ai.pydantic.dev/logfire/), in addition to OpenTelemetry's names.
 * - OpenLIT (https://github.com/openlit/openlit), for the cost, which the OpenTelemetry conventions do not know.
 * - Strands (https://github.com/strands-agents/sdk-python, telemetry/tracer.py), for tokens written to a cache.
 * - Langfuse (https://langfuse.com/integrations/native/opentelemetry, "Property Mapping"), for users, tags and prompts.
 * - LangSmith (https://docs.langchain.com/langsmith/trace-with-opentelemetry), for tags, which it separates by commas.
 * - Mastra (https://mastra.ai/docs/observability/tracing/bridges/otel), for users, and for the content of agents and workflows.
 *
 * Messages take precedence over raw values: in an OpenInference LLM span, `input.value` is the raw request with all its
 * parameters, and `llm.input_messages` has the messages. Attributes of tool calls and searches come last, because only the
 * spans of these have them.
 */
export const MEANING_TABLE: MeaningTable = {
  model: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.response.model', 'gen_ai.request.model'),
      ...attributes('OpenInference', 'llm.response.model_name', 'llm.model_name', 'llm.request.model_name'),
      ...attributes('OpenInference', 'embedding.model_name', 'reranker.model_name'),
      ...attributes('OpenLLMetry', 'llm.response.model', 'llm.request.model'),
      ...attributes('AI SDK', 'ai.response.model', 'ai.model.id'),
    ],
  },
  provider: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.provider.name'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.system'),
      ...attributes('OpenInference', 'llm.provider', 'llm.system'),
      ...attributes('OpenLLMetry', 'llm.vendor'),
      ...attributes('AI SDK', 'ai.model.provider'),
    ],
  },
  operation: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.operation.name'),
      ...attributes('OpenInference', 'openinference.span.kind'),
      ...attributes('OpenLLMetry', 'traceloop.span.kind', 'llm.request.type'),
      ...attributes('AI SDK', 'ai.operationId'),
      // agent runs repeat the usage of their calls, but earlier versions send no operation name
      present('Pydantic AI', 'pydantic_ai.all_messages', 'invoke_agent'),
      present('Pydantic AI', 'all_messages_events', 'invoke_agent'),
    ],
  },
  agentName: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.agent.name'),
      ...attributes('OpenInference', 'agent.name'),
      // graph nodes that are not agents have names as well
      where('OpenInference', 'graph.node.name', 'openinference.span.kind', 'AGENT'),
      where('OpenInference', 'graph.node.id', 'openinference.span.kind', 'AGENT'),
      where('OpenLLMetry', 'traceloop.entity.name', 'traceloop.span.kind', 'agent'),
      ...attributes('AI SDK', 'ai.telemetry.functionId'),
      ...attributes('Pydantic AI', 'agent_name'),
    ],
  },
  toolName: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.tool.name'),
      ...attributes('OpenInference', 'tool.name'),
      where('OpenLLMetry', 'traceloop.entity.name', 'traceloop.span.kind', 'tool'),
      ...attributes('AI SDK', 'ai.toolCall.name'),
    ],
  },
  inputTokens: {
    as: tokensOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.usage.input_tokens'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.usage.prompt_tokens'),
      ...attributes('OpenInference', 'llm.token_count.prompt'),
      ...attributes('OpenLLMetry', 'llm.usage.prompt_tokens'),
      // the last one is for embeddings
      ...attributes('AI SDK', 'ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens'),
    ],
  },
  outputTokens: {
    as: tokensOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.usage.output_tokens'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.usage.completion_tokens'),
      ...attributes('OpenInference', 'llm.token_count.completion'),
      ...attributes('OpenLLMetry', 'llm.usage.completion_tokens'),
      ...attributes('AI SDK', 'ai.usage.outputTokens', 'ai.usage.completionTokens'),
    ],
  },
  cachedInputTokens: {
    as: tokensOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.usage.cache_read.input_tokens'),
      ...attributes('OpenInference', 'llm.token_count.prompt_details.cache_read'),
      ...attributes('OpenLLMetry', 'gen_ai.usage.cache_read_input_tokens'),
      ...attributes('AI SDK', 'ai.usage.inputTokenDetails.cacheReadTokens', 'ai.usage.cachedInputTokens'),
      ...attributes('Pydantic AI', 'gen_ai.usage.details.cache_read_tokens'),
    ],
  },
  cacheWriteTokens: {
    as: tokensOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.usage.cache_write.input_tokens'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.usage.cache_creation.input_tokens'),
      ...attributes('OpenInference', 'llm.token_count.prompt_details.cache_write'),
      ...attributes('OpenLLMetry', 'gen_ai.usage.cache_creation_input_tokens'),
      ...attributes('AI SDK', 'ai.usage.inputTokenDetails.cacheWriteTokens'),
      ...attributes('Pydantic AI', 'gen_ai.usage.details.cache_write_tokens'),
      ...attributes('Strands', 'gen_ai.usage.cache_write_input_tokens'),
    ],
  },
  reasoningTokens: {
    as: tokensOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.usage.reasoning.output_tokens'),
      ...attributes('OpenInference', 'llm.token_count.completion_details.reasoning'),
      ...attributes('OpenLLMetry', 'gen_ai.usage.reasoning_tokens', 'llm.usage.reasoning_tokens'),
      ...attributes('AI SDK', 'ai.usage.outputTokenDetails.reasoningTokens', 'ai.usage.reasoningTokens'),
      ...attributes('Pydantic AI', 'gen_ai.usage.details.reasoning_tokens'),
    ],
  },
  timeToFirstTokenMs: {
    as: millisecondsOf,
    sources: [
      inSeconds('OpenTelemetry', 'gen_ai.response.time_to_first_chunk'),
      inSeconds('OpenLIT', 'gen_ai.server.time_to_first_token'),
      ...attributes('AI SDK', 'ai.response.msToFirstChunk'),
      inEvent('AI SDK', 'ai.stream.firstChunk', 'ai.response.msToFirstChunk'),
    ],
  },
  costUsd: {
    as: dollarsOf,
    sources: [
      ...attributes('OpenLIT', 'gen_ai.usage.cost'),
      ...attributes('OpenInference', 'llm.cost.total'),
      ...attributes('Pydantic AI', 'operation.cost'),
    ],
  },
  sessionId: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'session.id', 'gen_ai.conversation.id'), // OpenInference also uses the first
      ...attributes('OpenLLMetry', 'traceloop.association.properties.session_id'),
      ...attributes('AI SDK', 'ai.telemetry.metadata.sessionId', 'ai.settings.context.sessionId'),
      ...attributes('Mastra', 'mastra.metadata.sessionId'),
      { from: 'resource', convention: 'OpenTelemetry', name: 'session.id' },
    ],
  },
  serviceName: {
    as: textOf,
    sources: [
      { from: 'resource', convention: 'OpenTelemetry', name: 'service.name' },
      ...attributes('OpenTelemetry', 'service.name'),
    ],
  },
  agentVersion: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', AGENT_VERSION),
      { from: 'resource', convention: 'OpenTelemetry', name: 'service.version' },
      ...attributes('OpenTelemetry', 'service.version'),
    ],
  },
  userId: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'user.id', 'enduser.id'), // OpenInference also uses the first
      ...attributes('OpenLLMetry', 'traceloop.association.properties.user_id'),
      ...attributes('AI SDK', 'ai.telemetry.metadata.userId', 'ai.settings.context.userId'),
      ...attributes('Mastra', 'mastra.metadata.userId'),
      ...attributes('Langfuse', 'langfuse.user.id'),
    ],
  },
  environment: {
    as: textOf,
    sources: [
      { from: 'resource', convention: 'OpenTelemetry', name: 'deployment.environment.name' },
      ...attributes('OpenTelemetry', 'deployment.environment.name'),
      { from: 'resource', convention: 'OpenTelemetry, earlier', name: 'deployment.environment' },
      ...attributes('OpenTelemetry, earlier', 'deployment.environment'),
      ...attributes('Langfuse', 'langfuse.environment'),
    ],
  },
  tags: {
    as: tagsOf,
    sources: [
      ...attributes('OpenInference', 'tag.tags'),
      ...attributes('OpenLLMetry', 'traceloop.association.properties.tags'),
      ...attributes('AI SDK', 'ai.telemetry.metadata.tags', 'ai.settings.context.tags'),
      ...attributes('Mastra', 'mastra.tags'),
      ...attributes('Langfuse', 'langfuse.trace.tags', 'langfuse.tags'),
      ...attributes('LangSmith', 'langsmith.span.tags'),
    ],
  },
  promptName: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.prompt.name'),
      ...attributes('OpenLLMetry', 'traceloop.prompt.key'),
      ...attributes('Langfuse', 'langfuse.observation.prompt.name'),
    ],
  },
  promptVersion: {
    as: textOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.prompt.version'),
      ...attributes('OpenInference', 'llm.prompt_template.version'),
      ...attributes('OpenLLMetry', 'traceloop.prompt.version'),
      ...attributes('Langfuse', 'langfuse.observation.prompt.version'),
    ],
  },
  input: {
    as: instructedContentOf,
    sources: [
      {
        from: 'attribute',
        convention: 'OpenTelemetry',
        name: 'gen_ai.input.messages',
        instructions: 'gen_ai.system_instructions',
      },
      inEvent('OpenTelemetry', OPERATION_DETAILS, 'gen_ai.input.messages', 'gen_ai.system_instructions'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.prompt'),
      flattened('OpenLLMetry', 'gen_ai.prompt'),
      { from: 'messages', convention: 'OpenTelemetry, earlier', roles: ROLES_OF_INPUT },
      inEvent('OpenTelemetry, earlier', 'gen_ai.content.prompt', 'gen_ai.prompt'),
      flattened('OpenInference', 'llm.input_messages', 'message', 'message_content', 'tool_call'),
      flattened('OpenInference', 'llm.prompts', 'prompt'),
      { from: 'attribute', convention: 'OpenInference', name: 'input.value', mimeType: 'input.mime_type' },
      ...attributes('OpenLLMetry', 'traceloop.entity.input'),
      ...attributes('AI SDK', 'ai.prompt.messages'),
      inMember('AI SDK', 'ai.prompt', 'prompt'),
      ...attributes('AI SDK', 'ai.value', 'ai.values'),
      { from: 'messages', convention: 'Pydantic AI', attribute: 'events', roles: ROLES_OF_INPUT },
      ...attributes('Pydantic AI', 'pydantic_ai.all_messages', 'all_messages_events'),
      ...attributes('OpenTelemetry', 'gen_ai.tool.call.arguments', 'gen_ai.retrieval.query.text'),
      ...attributes('AI SDK', 'ai.toolCall.args'),
      ...attributes('Mastra', 'mastra.agent_run.input', 'mastra.workflow_run.input'),
      ...attributes('Pydantic AI', 'tool_arguments'),
    ],
  },
  output: {
    as: contentOf,
    sources: [
      ...attributes('OpenTelemetry', 'gen_ai.output.messages'),
      inEvent('OpenTelemetry', OPERATION_DETAILS, 'gen_ai.output.messages'),
      ...attributes('OpenTelemetry, earlier', 'gen_ai.completion'),
      flattened('OpenLLMetry', 'gen_ai.completion'),
      { from: 'messages', convention: 'OpenTelemetry, earlier', roles: ROLES_OF_OUTPUT },
      inEvent('OpenTelemetry, earlier', 'gen_ai.content.completion', 'gen_ai.completion'),
      flattened('OpenInference', 'llm.output_messages', 'message', 'message_content', 'tool_call'),
      flattened('OpenInference', 'llm.choices', 'completion'),
      { from: 'attribute', convention: 'OpenInference', name: 'output.value', mimeType: 'output.mime_type' },
      flattened('OpenInference', 'retrieval.documents', 'document'),
      ...attributes('OpenLLMetry', 'traceloop.entity.output'),
      ...attributes('AI SDK', 'ai.response.text', 'ai.response.object', 'ai.response.toolCalls'),
      ...attributes('AI SDK', 'ai.result.text', 'ai.result.object', 'ai.result.toolCalls'), // up to version 3
      { from: 'messages', convention: 'Pydantic AI', attribute: 'events', roles: ROLES_OF_OUTPUT },
      ...attributes('Pydantic AI', 'final_result'),
      ...attributes('OpenTelemetry', 'gen_ai.tool.call.result', 'gen_ai.retrieval.documents'),
      ...attributes('AI SDK', 'ai.toolCall.result'),
      inMember('Mastra', 'mastra.agent_run.output', 'text'),
      ...attributes('Mastra', 'mastra.workflow_run.output'),
      ...attributes('Pydantic AI', 'tool_response'),
    ],
  },
};

function attributes(convention: Convention, ...names: string[]): MeaningSource[] {
  return names.map((name) => ({ from: 'attribute', convention, name }));
}

/** Returns an attribute with a duration in seconds. */
function inSeconds(convention: Convention, name: string): MeaningSource {
  return { from: 'attribute', convention, name, unit: 's' };
}

/** Returns an attribute with a JSON object whose member `textMember` has the content. */
function inMember(convention: Convention, name: string, textMember: string): MeaningSource {
  return { from: 'attribute', convention, name, textMember };
}

/** Returns an attribute whose meaning depends on the kind of the span. */
function where(convention: Convention, name: string, kind: string, is: string): MeaningSource {
  return { from: 'attribute', convention, name, where: { name: kind, is } };
}

/** Returns an attribute of an event. @param instructions the attribute of the event with the system's instructions */
function inEvent(convention: Convention, event: string, name: string, instructions?: string): MeaningSource {
  return { from: 'event', convention, event, name, ...(instructions !== undefined && { instructions }) };
}

function flattened(convention: Convention, name: string, ...itemNames: string[]): MeaningSource {
  return { from: 'flattened', convention, name, itemNames };
}

/** Returns a value that follows from the presence of an attribute. */
function present(convention: Convention, name: string, value: string): MeaningSource {
  return { from: 'presence', convention, name, value };
}
