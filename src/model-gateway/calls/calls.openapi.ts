import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS_EXTENSION, type AccessRule } from '#platform/auth';
import { BODIES_EXTENSION, contentEncoding, NOT_REPEATABLE_EXTENSION } from '#platform/http';
import { throwing } from '#platform/problem';
import { NAMES_HEADER } from '../models/model.dto';
import { CALLING_ROLES } from './gateway.service';

const MODEL = { type: 'string', minLength: 1, maxLength: 255, description: 'The name or the id of a model.' };
const STREAM = { type: 'boolean', description: 'Whether to stream the response as server-sent events.' };

const HEADERS = {
  traceresponse: {
    description:
      'The trace and the span of the call (W3C Trace Context, level 2). The span is recorded unless `record_spans` of the model is false.',
    schema: { type: 'string' },
  },
  'Cache-Status': {
    description:
      'Whether the response comes from the cache (RFC 9211): `hit`, `fwd=miss`, or `fwd=bypass` for streams. Absent for models without `cache_ttl_seconds`.',
    schema: { type: 'string' },
  },
};

const ACCESS: AccessRule = { kind: 'roles_somewhere', anyOf: CALLING_ROLES };

const ANSWER = { headers: HEADERS };

interface CallOperation {
  operationId: string;
  summary: string;
  description: string;
  /** The members that the gateway reads, in addition to `model` and `stream`. */
  members: Record<string, object>;
  required: readonly string[];
  isStreamed?: boolean;
  parameters?: readonly object[];
  /** The response, if it is not that of the model. */
  response?: object;
}

/** Describes a model call. Its body and response are as in the named API. Unknown members are passed on. */
function operationOf(operation: CallOperation) {
  const { members, required, isStreamed = true, parameters = [], response = ANSWER, ...texts } = operation;
  return {
    ...texts,
    tags: ['Model gateway'],
    security: [{ bearer: [] }],
    parameters: [contentEncoding(['gzip']), { in: 'header', ...NAMES_HEADER }, ...parameters],
    [ACCESS_EXTENSION]: ACCESS,
    [NOT_REPEATABLE_EXTENSION]: true,
    ...throwing('conflict', 'forbidden', 'not_found'),
    [BODIES_EXTENSION]: {
      'application/json': {
        type: 'object',
        required: ['model', ...required],
        properties: { model: MODEL, ...(isStreamed && { stream: STREAM }), ...members },
        additionalProperties: true,
      },
    },
    responses: {
      200: {
        description: 'The response of the model.',
        content: {
          'application/json': { schema: { type: 'object', additionalProperties: true } },
          ...(isStreamed && { 'text/event-stream': { schema: { type: 'string' } } }),
        },
        ...response,
      },
    },
  };
}

const MESSAGES = { type: 'array', items: {} };

const BETA = {
  name: 'beta',
  in: 'query',
  description: "Sent by Anthropic's clients, and ignored.",
  schema: { type: 'string' },
};

const COUNT = {
  type: 'object',
  required: ['input_tokens'],
  properties: {
    input_tokens: { type: 'integer', format: 'int64', minimum: 0 },
    is_estimated: {
      type: 'boolean',
      description: 'True if the gateway has estimated the number. Absent if the provider has counted.',
    },
  },
  additionalProperties: true,
};

/** The operations that call models, for the OpenAPI document. They are written here because the endpoint is not a controller. */
export const CALL_OPERATIONS = {
  '/model/v1/chat/completions': {
    post: operationOf({
      operationId: 'createChatCompletion',
      summary: 'Create a chat completion',
      description:
        "Compatible with OpenAI's `POST /v1/chat/completions`, so its clients work with the base URL `/model/v1`. The request is translated for providers of kind `anthropic`. Unknown members are passed on.",
      members: { messages: MESSAGES },
      required: ['messages'],
    }),
  },
  '/model/v1/responses': {
    post: operationOf({
      operationId: 'createModelResponse',
      summary: 'Create a response',
      description:
        "Compatible with OpenAI's `POST /v1/responses`. The request is translated for providers of kind `anthropic`, which do not support features that need stored responses.",
      members: { input: {} },
      required: [],
    }),
  },
  '/model/v1/embeddings': {
    post: operationOf({
      operationId: 'createEmbeddings',
      summary: 'Create embeddings',
      description:
        "Compatible with OpenAI's `POST /v1/embeddings`. Providers of kind `anthropic` do not support embeddings.",
      members: { input: {} },
      required: ['input'],
      isStreamed: false,
    }),
  },
  '/model/v1/messages': {
    post: operationOf({
      operationId: 'createModelMessage',
      summary: 'Create a message',
      description:
        "Compatible with Anthropic's `POST /v1/messages`, so its clients work with the base URL `/model`. The credential may also be in `x-api-key`. The request is translated for providers of kind `openai`.",
      members: { messages: MESSAGES, max_tokens: { type: 'integer' } },
      required: ['messages'],
      parameters: [BETA],
    }),
  },
  '/model/v1/messages/count_tokens': {
    post: operationOf({
      operationId: 'countModelMessageTokens',
      summary: 'Count the input tokens of a message',
      description:
        "Compatible with Anthropic's `POST /v1/messages/count_tokens`. Counted by the first target's provider if its kind is `anthropic`, otherwise estimated. Costs nothing, and is not recorded.",
      members: { messages: MESSAGES },
      required: ['messages'],
      isStreamed: false,
      parameters: [BETA],
      response: {
        description: 'The number of tokens.',
        content: { 'application/json': { schema: COUNT } },
      },
    }),
  },
} as unknown as OpenAPIObject['paths'];
