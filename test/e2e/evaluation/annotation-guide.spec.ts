import { describeGuide, Guide, StandaloneService, TestJudge } from '#testing';

/** What the reader sees of a block, as values. */
const lines = (printed: string): unknown[] =>
  printed
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));

describeGuide('docs/annotate-and-measure-the-judge.md', () => {
  it('has two people score the same traces, and measures the judge against them', async () => {
    const judge = await TestJudge.listen();
    judge.reply = ({ prompt }) => ({
      content: JSON.stringify({ reasoning: 'compared', value: !prompt.includes('Sydney') }),
    });
    const service = await StandaloneService.start({ env: judge.env });
    const guide = Guide.open('docs/annotate-and-measure-the-judge.md', service);
    try {
      const worked = (await guide.next(5)).trim().split('\n');
      expect(worked.slice(0, 3)).toEqual([
        'Is the answer right?',
        'What is the capital of Turkey?',
        'Istanbul',
      ]);
      expect([worked.length, worked[12], worked.at(-1)]).toEqual([26, 'done', 'completed']);
      expect(lines(await guide.next())).toEqual([[4, 1]]);
      await guide.next();
      expect(lines(await guide.next())).toEqual([
        [4, 0.75, 0.5],
        [
          [1, 0],
          [1, 2],
        ],
      ]);
    } finally {
      guide.close();
      await service.stop();
      await judge.close();
    }
  }, 120_000);
});
