import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { WORKSPACE_HEADER } from '#platform/auth';
import { ApiBodies, ApiSchemas } from '#platform/http';

const reference = (name: string) => ({ $ref: getSchemaPath(name) });

const ID = { type: ['string', 'integer', 'null'], description: 'The id of the request.' };
const VERSION = { const: '2.0' };

/** The JSON-RPC 2.0 messages that the endpoint accepts and returns. */
const MESSAGES = {
  McpRequest: {
    type: 'object',
    description:
      'A message of the Model Context Protocol. A notification has no `id` and gets no response. In revision 2026-07-28, `params._meta` names the revision and the client.',
    properties: {
      jsonrpc: VERSION,
      id: { type: ['string', 'integer'] },
      method: { type: 'string', examples: ['tools/list', 'tools/call'] },
      params: { type: 'object', additionalProperties: true },
    },
    required: ['jsonrpc', 'method'],
    additionalProperties: true,
  },
  McpResult: {
    type: 'object',
    properties: { jsonrpc: VERSION, id: ID, result: { type: 'object', additionalProperties: true } },
    required: ['jsonrpc', 'id', 'result'],
  },
  McpError: {
    type: 'object',
    description: 'A protocol error. Errors of tools are results with `isError`.',
    properties: {
      jsonrpc: VERSION,
      id: ID,
      error: {
        type: 'object',
        properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
        required: ['code', 'message'],
      },
    },
    required: ['jsonrpc', 'id', 'error'],
  },
};

const MESSAGE = { anyOf: [reference('McpResult'), reference('McpError')] };
const ERROR = {
  'application/json': { schema: reference('McpError') },
  'application/problem+json': { schema: reference('ProblemDto') },
};

/** Statuses that return a protocol error or a problem. */
const SHARED: [status: number, description: string][] = [
  [400, 'The message is malformed, its revision is not supported, or the header names several workspaces.'],
  [404, 'The method does not exist (revision 2026-07-28).'],
  [500, ''],
];

/** Describes the route of the endpoint. */
export const TakesMessages = (): MethodDecorator =>
  applyDecorators(
    ApiSchemas(MESSAGES),
    ApiBodies({
      'application/json': {
        anyOf: [
          reference('McpRequest'),
          {
            type: 'array',
            items: reference('McpRequest'),
            description: 'A batch, in revisions up to 2025-03-26.',
          },
        ],
      },
    }),
    ApiHeader({
      name: 'MCP-Protocol-Version',
      required: false,
      description: 'The revision, such as `2026-07-28`. Clients send it once they know it.',
      schema: { type: 'string' },
    }),
    ApiHeader({
      name: WORKSPACE_HEADER,
      required: false,
      description:
        'The workspace for calls that do not name one. Returns 400 for several workspaces, and 403 for a workspace that you cannot access.',
      schema: { type: 'string' },
    }),
    ApiResponse({
      status: 200,
      description: 'The response, or the responses of a batch.',
      content: {
        'application/json': { schema: { anyOf: [...MESSAGE.anyOf, { type: 'array', items: MESSAGE }] } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    }),
    ApiResponse({ status: 202, description: 'The notifications were accepted.' }),
    ApiResponse({
      status: 406,
      description: '`Accept` excludes JSON. Revision 2026-07-28 ignores it.',
      content: { 'application/json': { schema: reference('McpError') } },
    }),
    ...SHARED.map(([status, description]) => ApiResponse({ status, description, content: ERROR })),
  );
