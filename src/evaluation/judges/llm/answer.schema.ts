import type { Output, SingleOutput } from '../../scorers/definitions/output.answer';

/** JSON Schema of what a judge is to answer, in the part of it that structured output has everywhere. */
export function answerSchema(output: Output, withReasoning: boolean): object {
  return objectOf({
    ...(withReasoning && { reasoning: { type: 'string' } }),
    ...(output.type === 'questions'
      ? {
          answers: objectOf(
            Object.fromEntries(output.questions.map((one) => [one.key, valueSchema(one.output)])),
          ),
        }
      : { [memberOf(output)]: valueSchema(output) }),
  });
}

/** The member of an answer that holds what is answered to an output. */
export const memberOf = (output: Output): 'choice' | 'value' | 'answers' =>
  output.type === 'choice' ? 'choice' : output.type === 'questions' ? 'answers' : 'value';

const objectOf = (properties: object): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

function valueSchema(output: SingleOutput): object {
  if (output.type === 'choice') return { type: 'string', enum: output.choices.map(({ value }) => value) };
  return { type: output.type === 'boolean' ? 'boolean' : 'number' };
}
