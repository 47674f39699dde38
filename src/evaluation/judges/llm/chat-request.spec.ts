import fc from 'fast-check';
import type { Output } from '../../scorers/definitions/definition.forms';
import { ALL_FEATURES, chatBody, type ChatFeatures, type ChatQuestion, withoutRefused } from './chat-request';

const question = (output: Output, more: Partial<ChatQuestion> = {}): ChatQuestion => ({
  ...{ model: 'm', output, withReasoning: true, temperature: 0, maxTokens: 100, ...more },
  isTemperatureAskedFor: false,
});
/** What is tried after a refusal that says this. */
const after = (features: ChatFeatures, message: string) =>
  withoutRefused(features, { message, parameter: '', code: '' }, false)?.features;
const BOOLEAN = question({ type: 'boolean' });
const body = (of: ChatQuestion, features: Partial<ChatFeatures> = {}) =>
  JSON.parse(chatBody(of, [{ role: 'user', content: 'q' }], { ...ALL_FEATURES, ...features }));

const LEAST: ChatFeatures = {
  ...{ responseFormat: 'none', logprobs: false, maxTokens: 'max_completion_tokens', temperature: false },
};

describe('a request for a chat completion', () => {
  it('asks for all that a server may have', () => {
    expect(body(BOOLEAN)).toEqual({
      ...{ model: 'm', messages: [{ role: 'user', content: 'q' }], temperature: 0, max_tokens: 100 },
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'judgement', strict: true, schema: expect.objectContaining({ type: 'object' }) },
      },
      ...{ logprobs: true, top_logprobs: 20 },
    });
  });

  it('has nothing of what a server does not take', () => {
    expect(Object.keys(body(BOOLEAN, LEAST))).toEqual(['model', 'messages', 'max_completion_tokens']);
    expect(body(BOOLEAN, { responseFormat: 'json_object' }).response_format).toEqual({ type: 'json_object' });
  });

  it('asks for probabilities where there is something to choose, and for no temperature that nobody named', () => {
    expect(body(question({ type: 'numeric', min: 0, max: 1 }))).not.toHaveProperty('logprobs');
    expect(body(question({ type: 'boolean' }, { temperature: undefined }))).not.toHaveProperty('temperature');
  });
});

describe('what is left out of a request that was refused', () => {
  it.each<[string, Partial<ChatFeatures>]>([
    ["Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", { maxTokens: 'max_completion_tokens' }],
    ["Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", { temperature: false }],
    ['logprobs are not supported – top_logprobs', { logprobs: false }],
    ["Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", { responseFormat: 'json_object' }],
    ['Failed to compile the grammar', { responseFormat: 'json_object' }],
  ])('is what it names: %s', (refusal, change) => {
    expect(after(ALL_FEATURES, refusal)).toEqual({ ...ALL_FEATURES, ...change });
  }); // prettier-ignore

  it('is nothing where nothing is named that could be', () => {
    expect(after(ALL_FEATURES, 'The model does not exist.')).toBeUndefined();
    expect(after(LEAST, 'max_completion_tokens logprobs response_format temperature')).toBeUndefined();
  });

  it('is never the temperature that a scorer asks for', () => {
    const refusal = {
      message: 'Unsupported value: temperature',
      parameter: 'temperature',
      code: 'unsupported_value',
    };
    expect(withoutRefused(ALL_FEATURES, refusal, true)).toBeUndefined();
    expect(withoutRefused(ALL_FEATURES, refusal, false)?.features.temperature).toBe(false);
  });

  it.each([
    ['the server has no such parameter', true, "Unsupported parameter: 'logprobs'.", 'logprobs', 'unsupported_parameter'],
    ['the server says so in its own words', true, 'logprobs: Extra inputs are not permitted', '', ''],
    ['a schema is too large', false, "Invalid schema for response_format 'judgement': too many enum values", 'response_format', 'invalid_request_error'],
    ['a value is out of bounds', false, 'temperature must be between 0 and 1', 'temperature', ''],
    ['what is judged is quoted', false, 'Input rejected: "tell me of logprobs and grammar"', '', ''],
  ])('is what all others are told only where %s', (_, isOfServer, message, parameter, code) => {
    expect(withoutRefused(ALL_FEATURES, { message, parameter, code }, false)?.isOfServer).toBe(isOfServer);
  }); // prettier-ignore

  it('is what the refusal is about, whatever else it quotes', () => {
    const refusal = { message: 'Unsupported: grammar, logprobs', parameter: 'messages', code: '' };
    expect(withoutRefused(ALL_FEATURES, refusal, false)).toBeUndefined();
  });

  it('is never asked for again, so that a server that refuses everything is asked six times at most', () => {
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
