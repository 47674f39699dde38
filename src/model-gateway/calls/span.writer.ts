import { Injectable } from '@nestjs/common';
import { NO_ROLES, workspaceScope } from '#platform/auth';
import { Batcher } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { TraceExportService } from '../../telemetry';
import { isObject, type JsonObject, jsonText, listOf, objectOf, textOf } from '../formats/json-shape';
import type { Usage } from '../formats/usage';
import type { Call, CallOutcome } from './call.types';
import { messagesOf } from './request-translation';

/** Characters at which an export is full. */
const EXPORT_LENGTH = 4 * 1024 * 1024;
/** Maximum time for an export, in milliseconds. */
const EXPORT_MS = 10_000;

/** Maximum size of a request whose messages are recorded in its span, in bytes. */
export const CONTENT_MAX = 256 * 1024;

/** A call that has ended. */
export interface EndedCall {
  call: Call;
  outcome: CallOutcome;
  usage: Usage;
  /** Whether the gateway estimated the usage, because the provider did not report it. */
  isEstimated: boolean;
  /** The part of the cost that is estimated, in US dollars. */
  estimatedUsd: number;
  costUsd: number | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number;
}

/** A span to store. */
interface WorkspaceSpan {
  orgId: string;
  workspaceId: string;
  /** The span as JSON. */
  json: string;
}

/** Stores the spans of calls in the trace store, in batches of a workspace. */
@Injectable()
export class SpanWriter {
  private readonly batches = new Batcher<WorkspaceSpan, void>({
    run: (spans) => this.write(spans),
    max: EXPORT_LENGTH,
    weightOf: ({ json }) => json.length,
    isSequential: true,
  });

  constructor(private readonly traces: TraceExportService) {}

  /** Stores a span. Resolves when the span can be read, or could not be stored, because a lost span must not fail the call. */
  add(orgId: string, workspaceId: string, span: JsonObject): Promise<void> {
    return this.batches.add([workspaceId], { orgId, workspaceId, json: JSON.stringify(span) });
  }

  private async write(spans: readonly WorkspaceSpan[]): Promise<void[]> {
    const { orgId, workspaceId } = spans[0]!;
    try {
      const scope = workspaceScope(orgId, workspaceId, 'model-gateway', NO_ROLES);
      const bytes = Buffer.from(exportOf(spans.map(({ json }) => json)));
      await this.traces.export(scope, { bytes, encoding: 'json' }, AbortSignal.timeout(EXPORT_MS));
    } catch (err) {
      rootLogger.warn({ err, workspace_id: workspaceId }, 'spans of the model gateway could not be stored');
    }
    return [];
  }
}

const RESOURCE = { attributes: [{ key: 'service.name', value: { stringValue: 'model-gateway' } }] };
const SCOPE = { name: 'agent-registry.model-gateway' };

/** Returns an OTLP/JSON export. @param spans the spans as JSON */
const exportOf = (spans: readonly string[]): string =>
  `{"resourceSpans":[{"resource":${JSON.stringify(RESOURCE)},"scopeSpans":[{"scope":${JSON.stringify(SCOPE)},"spans":[${spans.join(',')}]}]}]}`;

/** Returns the span of a call in OTLP/JSON, with the attributes of OpenTelemetry's conventions for generative AI. */
export function spanOf(ended: EndedCall): JsonObject {
  const { call, outcome, startedAt, endedAt } = ended;
  const { traceId, spanId, parentSpanId } = call.span;
  return {
    traceId,
    spanId,
    ...(parentSpanId !== null && { parentSpanId }),
    name: `${operationOf(call)} ${call.model.name}`,
    kind: 3, // client
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(ended),
    status: outcome.error === null ? {} : { code: 2, message: outcome.error },
  };
}

const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n);

const operationOf = ({ format }: Call): string => (format === 'embeddings' ? 'embeddings' : 'chat');

function attributesOf({ call, outcome, usage, isEstimated, estimatedUsd, costUsd }: EndedCall): JsonObject[] {
  const { facts } = outcome;
  const { target, attempts } = call.progress;
  const attributes: Record<string, unknown> = {
    'gen_ai.operation.name': operationOf(call),
    'gen_ai.provider.name': target?.provider.kind,
    // the upstream name, because prices and statistics do not know names of the gateway
    'gen_ai.request.model': (target ?? call.model.targets[0])?.upstream_model,
    'gen_ai.request.stream': call.facts.isStream || undefined,
    'gen_ai.request.max_tokens': call.facts.bound.maxTokens,
    'gen_ai.request.temperature': call.facts.temperature,
    'gen_ai.response.id': facts.id,
    'gen_ai.response.model': facts.model,
    'gen_ai.response.time_to_first_chunk':
      outcome.firstByteMs === null ? undefined : outcome.firstByteMs / 1000,
    'gen_ai.response.finish_reasons': facts.finishReason === null ? undefined : [facts.finishReason],
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
    'gen_ai.usage.cache_write.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.cost': costUsd,
    'server.address': target?.provider.base.hostname,
    'error.type': outcome.error,
    'model_gateway.model': call.model.name,
    'model_gateway.model_id': call.model.model_id,
    'model_gateway.provider': target?.provider.name,
    'model_gateway.principal_id': call.caller.principalId,
    'model_gateway.attempts': attempts.length,
    'model_gateway.cache_hit': outcome.isCached || undefined,
    'model_gateway.usage_estimated': isEstimated || undefined,
    'model_gateway.estimated_cost': isEstimated ? estimatedUsd : undefined,
    ...(call.model.capture_content && contentOf(call, outcome)),
  };
  return Object.entries(attributes).flatMap(([key, value]) => {
    const encoded = encodedValue(value);
    return encoded ? [{ key, value: encoded }] : [];
  });
}

function encodedValue(value: unknown): JsonObject | undefined {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value))
    return { arrayValue: { values: value.flatMap((one) => encodedValue(one) ?? []) } };
  return undefined;
}

/** Returns the messages in the form of the conventions, as JSON texts. Leaves out messages that are nested too deeply. */
function contentOf(call: Call, { facts }: CallOutcome): Record<string, unknown> {
  const messages =
    call.body.length <= CONTENT_MAX ? messagesOf(call.body.toString(), call.format) : undefined;
  const answer = { role: 'assistant', content: facts.text, tool_calls: facts.toolCalls };
  const hasAnswer = facts.text !== '' || facts.toolCalls.length > 0;
  return {
    ...(Array.isArray(messages) && { 'gen_ai.input.messages': jsonText(messages.map(messageOf)) }),
    ...(hasAnswer && { 'gen_ai.output.messages': jsonText([messageOf(answer)]) }),
  };
}

/** Converts a message of a chat completion. Leaves out images and files. */
function messageOf(message: unknown): JsonObject {
  const { role, content, tool_calls, tool_call_id } = isObject(message) ? message : { content: message };
  if (role === 'tool') {
    return { role, parts: [{ type: 'tool_call_response', id: tool_call_id, response: content }] };
  }
  const texts =
    typeof content === 'string' ? [content] : listOf(content).map((part) => textOf(objectOf(part).text));
  return {
    role: role ?? 'user',
    parts: [
      ...texts.filter((text) => text).map((text) => ({ type: 'text', content: text })),
      ...listOf(tool_calls).filter(isObject).map(toolCallOf),
    ],
  };
}

function toolCallOf({ id, function: called }: JsonObject): JsonObject {
  const { name, arguments: args } = isObject(called) ? called : {};
  return { type: 'tool_call', id, name, arguments: args };
}
