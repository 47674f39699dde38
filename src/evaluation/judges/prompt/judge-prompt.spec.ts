import fc from 'fast-check';
import { CannotJudge } from '../judge-backend';
import { DATA_BLOCK_BYTES } from './data-block';
import { judgePrompt } from './judge-prompt';

const subjectOf = (input: unknown, output: unknown = null) => ({
  ...{ input, output, expected: null, metadata: null, trace: null, session: null },
});
const sizeOf = (pieces: ReturnType<typeof judgePrompt>): number =>
  pieces.reduce(
    (sum, piece) =>
      sum +
      ('own' in piece ? Buffer.byteLength(piece.own) : DATA_BLOCK_BYTES + Buffer.byteLength(piece.data)),
    0,
  );

describe('the prompt of a judge', () => {
  it('is never longer than the judge can read, or says that it cannot be judged', () => {
    const texts = fc.string({ unit: 'binary', maxLength: 2_000, size: 'max' });
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: -10, max: 3_000 }), (input, output, room) => {
        try {
          expect(sizeOf(judgePrompt('Is {{output}} an answer to {{input}}?', subjectOf(input, output), room)))
            .toBeLessThanOrEqual(room); // prettier-ignore
        } catch (error) {
          if (!(error instanceof CannotJudge)) throw error;
          expect(room).toBeLessThan(30 + 2 * (DATA_BLOCK_BYTES + 240));
        }
      }),
    );
  });

  it('cuts the long text and leaves the short one and the scorer’s own words as they are', () => {
    const pieces = judgePrompt('{{output}} of {{input}}', subjectOf('x'.repeat(8_388_608), 'short'), 5_000);
    expect(pieces).toEqual([
      { data: 'short' },
      { own: ' of ' },
      { data: expect.stringMatching(/^x+\n\[… \d+ characters are left out .*\n…x+$/s) as string },
    ]);
  });

  it('makes one copy of a long text that it shows a thousand times', () => {
    const input = '😀'.repeat(50_000);
    const copy = jest.spyOn(Buffer, 'from');
    const pieces = judgePrompt('{{input}}'.repeat(1_000), subjectOf(input), 400_000);
    const copies = copy.mock.calls.filter(([of]) => (of as unknown) === input).length;
    copy.mockRestore();
    expect([pieces.length, new Set(pieces.map((piece) => 'data' in piece && piece.data)).size, copies]).toEqual([
      1_000, 1, 1,
    ]); // prettier-ignore
  });

  it.each([
    ['own words that fill it', 'w'.repeat(2_000)],
    ['own words that leave hardly any room', `${'w'.repeat(900)}{{input}}`],
    ['own words that are longer than they look', '€'.repeat(500)],
    ['more places for data than there is room for', '{{input}}'.repeat(20)],
    ['a template that an older service took, and this one does not', '{{#input}}'],
  ])('cannot be made of %s', (_, template) => {
    expect(() => judgePrompt(template, subjectOf('x'.repeat(500)), 1_000)).toThrow(CannotJudge);
  });
});
