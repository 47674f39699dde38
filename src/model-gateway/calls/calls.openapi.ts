import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse } from '@nestjs/swagger';
import { ApiBodies } from '#platform/http';
import { GatewayProblemDto } from './gateway-problem.dto';

const MODEL = { type: 'string', minLength: 1, maxLength: 255, description: 'The name or the id of a model.' };
const STREAM = { type: 'boolean', description: 'Whether the answer comes as server-sent events.' };

const HEADERS = {
  traceresponse: {
    description:
      'The trace and the span of the call (W3C Trace Context, level 2). Its span is there unless the model has `record_spans` false.',
    schema: { type: 'string' as const },
  },
  'Cache-Status': {
    description:
      'Whether the answer was given before (RFC 9211): `hit`, `fwd=miss`, or `fwd=bypass` for streams. Absent for models without `cache_ttl_seconds`.',
    schema: { type: 'string' as const },
  },
};

/**
 * Describes a call of a model. Its body and its answer are those of the named API, and unknown members are passed on.
 *
 * @param members the members that the gateway reads, besides `model`
 */
export const DescribesCall = (
  members: Record<string, object>,
  required: readonly string[],
  isStreamed = true,
) =>
  applyDecorators(
    ApiExtraModels(GatewayProblemDto),
    ApiBodies({
      'application/json': {
        type: 'object',
        required: ['model', ...required],
        properties: { model: MODEL, ...(isStreamed && { stream: STREAM }), ...members },
        additionalProperties: true,
      },
    }) as ClassDecorator & MethodDecorator,
    ApiOkResponse({
      description: 'The answer of the model.',
      headers: HEADERS,
      content: {
        'application/json': { schema: { type: 'object', additionalProperties: true } },
        ...(isStreamed && { 'text/event-stream': { schema: { type: 'string' } } }),
      },
    }),
  );
