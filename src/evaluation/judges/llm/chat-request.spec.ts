import fc from 'fast-check';
import type { Output } from '../../scorers/definitions/definition.forms';
import {
  ALL_FEATURES,
  chatBody,
  type ChatFeatures,
  type ChatQuestion,
  withoutRefusedFeature,
} from './chat-request';

const question = (output: Output, more: Partial<ChatQuestion> = {}): ChatQuestion => ({
  ...{ model: 'm', output, withReasoning: true, temperature: 0, maxTokens: 100, ...more },
  isTemperatureRequired: false,
});
/** Returns the features to retry with after a refusal with this message. */
const after = (features: ChatFeatures, message: string) =>
  withoutRefusedFeature(features, { message, parameter: '', code: '' }, false)?.features;
const BOOLEAN = question({ type: 'boolean' });
const body = (of: ChatQuestion, features: Partial<ChatFeatures> = {}) =>
  JSON.parse(chatBody(of, [{ role: 'user', content: 'q' }], { ...ALL_FEATURES, ...features }));

const NO_FEATURES: ChatFeatures = {
  ...{ responseFormat: 'none', logprobs: false, maxTokens: 'max_completion_tokens', temperature: false },
};

describe('chatBody', () => {
  it('uses all features', () => {
    expect(body(BOOLEAN)).toEqual({
      ...{ model: 'm', messages: [{ role: 'user', content: 'q' }], temperature: 0, max_tokens: 100 },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'judgement', strict: true, schema: expect.objectContaining({ type: 'object' }) },
      },
      ...{ logprobs: true, top_logprobs: 20 },
    });
  });

  it('omits the features that a server lacks', () => {
    expect(Object.keys(body(BOOLEAN, NO_FEATURES))).toEqual(['model', 'messages', 'max_completion_tokens']);
    expect(body(BOOLEAN, { responseFormat: 'json_object' }).response_format).toEqual({ type: 'json_object' });
  });

  it('requests probabilities only for choices and booleans, and no temperature by default', () => {
    expect(body(question({ type: 'numeric', min: 0, max: 1 }))).not.toHaveProperty('logprobs');
    expect(body(question({ type: 'boolean' }, { temperature: undefined }))).not.toHaveProperty('temperature');
  });
});

describe('withoutRefusedFeature', () => {
  it.each<[string, Partial<ChatFeatures>]>([
    ["Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", { maxTokens: 'max_completion_tokens' }],
    ["Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", { temperature: false }],
    ['logprobs are not supported – top_logprobs', { logprobs: false }],
    ["Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", { responseFormat: 'json_object' }],
    ['Failed to compile the grammar', { responseFormat: 'json_object' }],
  ])('drops the feature in: %s', (refusal, change) => {
    expect(after(ALL_FEATURES, refusal)).toEqual({ ...ALL_FEATURES, ...change });
  }); // oxfmt-ignore

  it('returns undefined if the refusal mentions no feature that can be dropped', () => {
    expect(after(ALL_FEATURES, 'The model does not exist.')).toBeUndefined();
    expect(after(NO_FEATURES, 'max_completion_tokens logprobs response_format temperature')).toBeUndefined();
  });

  it('never drops a temperature that the scorer requires', () => {
    const refusal = {
      message: 'Unsupported value: temperature',
      parameter: 'temperature',
      code: 'unsupported_value',
    };
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, true)).toBeUndefined();
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, false)?.features.temperature).toBe(false);
  });

  it.each([
    ['an unsupported parameter', true, "Unsupported parameter: 'logprobs'.", 'logprobs', 'unsupported_parameter'],
    ['an unsupported parameter in other words', true, 'logprobs: Extra inputs are not permitted', '', ''],
    ['a schema that is too large', false, "Invalid schema for response_format 'judgement': too many enum values", 'response_format', 'invalid_request_error'],
    ['a value that is out of bounds', false, 'temperature must be between 0 and 1', 'temperature', ''],
    ['quoted data', false, 'Input rejected: "tell me of logprobs and grammar"', '', ''],
  ])('classifies a refusal of %s', (_, isServerWide, message, parameter, code) => {
    expect(withoutRefusedFeature(ALL_FEATURES, { message, parameter, code }, false)?.isServerWide).toBe(isServerWide);
  }); // oxfmt-ignore

  it('finds the feature by the parameter of the refusal if there is one', () => {
    const refusal = { message: 'Unsupported: grammar, logprobs', parameter: 'messages', code: '' };
    expect(withoutRefusedFeature(ALL_FEATURES, refusal, false)).toBeUndefined();
  });

  it('never returns to dropped features, so that six requests suffice for a server that refuses everything', () => {
    const words = [
      'max_completion_tokens',
      'logprobs',
      'response_format',
      'json_schema',
      'temperature',
      'no',
    ];
    const refusals = fc.array(fc.subarray(words), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(refusals, (all) => {
        const seen = [JSON.stringify(ALL_FEATURES)];
        let features: ChatFeatures | undefined = ALL_FEATURES;
        for (const refusal of all) {
          features = after(features, refusal.join(' '));
          if (!features) break;
          seen.push(JSON.stringify(features));
        }
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});
