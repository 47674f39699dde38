import fc from 'fast-check';
import { PromptError } from '../judge-backend';
import { DATA_BLOCK_BYTES } from './data-block';
import { judgePrompt } from './judge-prompt';

const subjectOf = (input: unknown, output: unknown = null) => ({
  ...{ input, output, expected: null, metadata: null, trace: null, session: null },
});
const sizeOf = (pieces: ReturnType<typeof judgePrompt>): number =>
  pieces.reduce(
    (sum, piece) =>
      sum +
      ('text' in piece ? Buffer.byteLength(piece.text) : DATA_BLOCK_BYTES + Buffer.byteLength(piece.data)),
    0,
  );

describe('judgePrompt', () => {
  it('never exceeds the limit, or refuses the prompt', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' });
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: -10, max: 3_000 }), (input, output, maxBytes) => {
        try {
          expect(sizeOf(judgePrompt('Is {{output}} an answer to {{input}}?', subjectOf(input, output), maxBytes)))
            .toBeLessThanOrEqual(maxBytes); // oxfmt-ignore
        } catch (error) {
          if (!(error instanceof PromptError)) throw error;
          expect(maxBytes).toBeLessThan(30 + 2 * (DATA_BLOCK_BYTES + 240));
        }
      }),
    );
  });

  it('cuts long data, and keeps short data and the text of the template', () => {
    const pieces = judgePrompt('{{output}} of {{input}}', subjectOf('x'.repeat(8_388_608), 'short'), 5_000);
    expect(pieces).toEqual([
      { data: 'short' },
      { text: ' of ' },
      { data: expect.stringMatching(/^x+\n\[… \d+ characters were removed .*\n…x+$/s) as string },
    ]);
  });

  it('copies a long text once, even if the prompt inserts it a thousand times', () => {
    const input = '😀'.repeat(50_000);
    const copy = jest.spyOn(Buffer, 'from');
    const pieces = judgePrompt('{{input}}'.repeat(1_000), subjectOf(input), 400_000);
    const copies = copy.mock.calls.filter(([of]) => (of as unknown) === input).length;
    copy.mockRestore();
    expect([pieces.length, new Set(pieces.map((piece) => 'data' in piece && piece.data)).size, copies]).toEqual([
      1_000, 1, 1,
    ]); // oxfmt-ignore
  });

  it.each([
    ['a text that fills the limit', 'w'.repeat(2_000)],
    ['a text that leaves too few bytes', `${'w'.repeat(900)}{{input}}`],
    ['a text with more bytes than characters', '€'.repeat(500)],
    ['too many values', '{{input}}'.repeat(20)],
    ['a template that only older releases accepted', '{{#input}}'],
  ])('refuses %s', (_, template) => {
    expect(() => judgePrompt(template, subjectOf('x'.repeat(500)), 1_000)).toThrow(PromptError);
  });
});
