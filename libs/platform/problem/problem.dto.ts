import { ApiExtension, ApiProperty } from '@nestjs/swagger';
import { CATALOGUE, type ProblemCode } from './catalogue';

/** One fault within a request. */
export class FieldErrorDto {
  /** JSON pointer (RFC 6901) into the body. */
  pointer?: string;
  /** Name of the query parameter, header or path parameter. */
  parameter?: string;
  detail!: string;
}

/** Problem details (RFC 9457): the body of every error. */
export class ProblemDto {
  title!: string;
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 0 })
  status!: number;
  /** Names the member, the rule it breaks and the remedy. */
  detail!: string;
  /** Machine-readable code of the problem. */
  @ApiProperty({ enum: Object.keys(CATALOGUE) })
  code!: ProblemCode;
  /** The W3C trace id of the request. */
  trace_id?: string | null;
  errors?: FieldErrorDto[];
}

/** Extension that carries `@ApiProblems()` to the OpenAPI document, which does not show it. */
export const PROBLEMS_EXTENSION = 'x-problems';

/** Lists the only codes that an operation answers, for each status in this order. */
export const ApiProblems = (...codes: readonly ProblemCode[]): MethodDecorator =>
  ApiExtension(PROBLEMS_EXTENSION, codes);

/** Returns the content of a response, in the OpenAPI document, that has one of these codes. */
export const problemContent = (codes: readonly ProblemCode[]) => ({
  'application/problem+json': {
    schema: {
      allOf: [{ $ref: '#/components/schemas/ProblemDto' }, { properties: { code: { enum: [...codes] } } }],
    },
  },
});
