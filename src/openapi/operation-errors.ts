import { type ProblemCode, problemSchema } from '#platform/problem';
import type { Operation, Response, Schema } from './operation';
import { problemsOf, type ProblemTraits } from './problem-codes';
import { problemSchemaOf, type SharedResponses } from './responses';

/** Adds its problems to an operation: each status with exactly the codes that it can return. */
export function completeErrors(
  operation: Operation,
  traits: ProblemTraits,
  responses: SharedResponses,
): void {
  const problems = problemsOf(traits);
  for (const [status, response] of Object.entries(operation.responses)) {
    if (!problems.has(Number(status)) && !('$ref' in response)) withoutProblem(operation, status, response);
  }
  for (const [status, codes] of problems) {
    const own = operation.responses[status];
    if (!own) operation.responses[status] = { $ref: responses.refTo(traits.path, status, codes) };
    else if (!('$ref' in own)) describeProblem(own, codes, traits.path);
  }
}

/** Removes the problem from a response whose status has no problems. Removes the response if nothing else remains. */
function withoutProblem({ responses }: Operation, status: string, response: Response): void {
  const { [PROBLEM_MEDIA]: problem, ...others } = response.content ?? {};
  if (problem) response.content = others;
  if (problem && Object.keys(others).length === 0) Reflect.deleteProperty(responses, status);
}

/** Adds the codes to a response that an operation describes itself. */
function describeProblem(response: Response, codes: readonly ProblemCode[], path: string): void {
  const { $ref } = (response.content?.[PROBLEM_MEDIA]?.schema ?? {}) as Schema;
  const schema = problemSchema(codes, $ref?.split('/').at(-1) ?? problemSchemaOf(path));
  response.content = { ...response.content, [PROBLEM_MEDIA]: { schema } };
}

const PROBLEM_MEDIA = 'application/problem+json';

/** Tells whether an operation has a parameter, or a member of its body, with enumerated values. */
export function takesEnumerated(
  { parameters = [], requestBody }: Operation,
  schemas: Record<string, Schema>,
): boolean {
  const seen = new Set<Schema>();
  const isEnumerated = (schema: Schema | undefined): boolean => {
    if (!schema || seen.has(schema)) return false;
    seen.add(schema);
    const { $ref, items, anyOf = [], allOf = [], properties = {} } = schema;
    const referenced = schemas[$ref?.split('/').at(-1) ?? ''];
    const parts = [referenced, items, ...anyOf, ...allOf, ...Object.values(properties)];
    return schema.enum !== undefined || parts.some(isEnumerated);
  };
  const bodies = Object.values(requestBody?.content ?? {});
  return [...parameters, ...bodies].some(({ schema }) => isEnumerated(schema));
}
