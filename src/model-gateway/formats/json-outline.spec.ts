import fc from 'fast-check';
import { JsonOutline, outlineOf } from './json-outline';

const outlined = (value: unknown): unknown => JSON.parse(outlineOf(Buffer.from(JSON.stringify(value))));

describe('JsonOutline', () => {
  it('keeps short values of the upper levels', () => {
    const value = {
      type: 'response.completed',
      response: {
        id: 'r',
        error: null,
        usage: { input_tokens: 3, input_tokens_details: { cached_tokens: 1 } },
      },
      choices: [{ index: 0, delta: { content: 'é"\\\n\u0001😀' }, finish_reason: 'stop' }],
    };
    expect(outlined(value)).toEqual(value);
  });

  it('keeps the usage after any content', () => {
    const item = { type: 'message', id: 'x'.repeat(100), content: [{ text: 'x'.repeat(1_000) }] };
    const response = { output: Array.from({ length: 5_000 }, () => item), usage: { output_tokens: 7 } };
    expect(outlined({ response })).toMatchObject({ response: { usage: { output_tokens: 7 } } });
    const embedding = Array.from({ length: 3_072 }, (_, n) => n / 7);
    const data = Array.from({ length: 300 }, (_, index) => ({ index, embedding }));
    expect(outlined({ data, usage: { prompt_tokens: 7 } })).toMatchObject({ usage: { prompt_tokens: 7 } });
  });

  it('cuts strings between characters and escapes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_015, max: 1_030 }),
        fc.constantFrom('é', '😀', '\u0001', '"', '\\'),
        (length, end) => {
          const text = 'x'.repeat(length) + end.repeat(20);
          const { a } = outlined({ a: text }) as { a: string };
          expect(text.startsWith(a)).toBe(true);
          expect(a.length).toBeGreaterThan(1_000);
        },
      ),
    );
  });

  it('returns valid JSON for all JSON, in bounded memory, however it arrives', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(20), (json, size) => {
        const bytes = Buffer.from(json);
        const outline = new JsonOutline();
        for (let at = 0; at <= bytes.length; at += size + 1) outline.write(bytes.subarray(at, at + size + 1));
        expect(outline.text()).toBe(outlineOf(bytes));
        expect(() => JSON.parse(outline.text())).not.toThrow();
      }),
    );
  });

  it.each([
    ['lists', '['.repeat(500_000) + ']'.repeat(500_000)],
    ['objects', '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
    ['names', `{${Array.from({ length: 100_000 }, (_, n) => `"${n}":1`).join()}}`],
    ['elements', `[${'{},'.repeat(300_000)}{}]`],
    ['a name', `{"${'x'.repeat(1_000_000)}":1}`],
    ['a number', `[${'1'.repeat(1_000_000)}]`],
  ])('is small for many %s', (_, json) => {
    const text = outlineOf(Buffer.from(json));
    expect(text.length).toBeLessThan(64 * 1024);
    expect(() => JSON.parse(text)).not.toThrow();
  });
});
