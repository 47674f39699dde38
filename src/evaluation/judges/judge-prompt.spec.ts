import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { RawJson } from '#platform/json';
import { parsePrompt } from '../scorers/definitions/prompt.template';
import type { ScoringSubject } from '../scorers/engine/subject';
import { PromptError } from './judge-backend';
import {
  CUT_MARK_BYTES,
  cutMiddle,
  DATA_BLOCK_BYTES,
  dataBlock,
  delimitersOf,
  expandPrompt,
  fairShare,
  judgePrompt,
} from './judge-prompt';

const subjectOf = (input: unknown, output: unknown = null) => ({
  ...{ input, output, expected: null, metadata: null, trace: null, session: null },
});
const sizeOf = ({ pieces }: ReturnType<typeof judgePrompt>): number =>
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
          const whole = error.isTooLarge ? Buffer.byteLength(input) + Buffer.byteLength(output) : 2 * 240;
          expect(maxBytes).toBeLessThan(30 + 2 * DATA_BLOCK_BYTES + whole);
        }
      }),
    );
  });

  const long = 'x'.repeat(8_388_608);
  const judged = (template: string, subject: Partial<ScoringSubject>, maxBytes = 5_000) =>
    judgePrompt(template, { ...subjectOf(null), ...subject }, maxBytes);

  it('cuts long metadata and transcripts, says so, and keeps all other data whole', () => {
    const output = 'y'.repeat(3_000);
    for (const subject of [
      { metadata: long },
      { trace: { input: long, spans: [] } },
      { session: { messages: [{ role: 'user', content: long }] } },
    ]) {
      const [name] = Object.keys(subject);
      const { pieces, isTruncated } = judged(`{{output}} of {{${name}}}`, { ...subject, output });
      expect(pieces).toEqual([
        { data: output, origin: 'output' },
        { text: ' of ' },
        { data: expect.stringMatching(/x+\n\[… \d+ characters were removed .*\n…x+$/s), origin: name },
      ]);
      expect([name, isTruncated]).toEqual([name, true]);
    }
    expect(judged('{{output}}{{metadata}}', { output, metadata: { a: 1 } }).isTruncated).toBe(false);
  });

  it.each<[string, string, Partial<ScoringSubject>]>([
    ['output', '{{output}}', { output: long }],
    ['output', 'Compare {{output}} and {{expected}}', { output: long, expected: 'x' }],
    ['expected value', '{{output}} {{expected}}', { output: 'x', expected: { a: long } }],
    ['input', '{{#input}}{{text}}{{/input}}', { input: [{ text: 'a' }, { text: long }] }],
    ['output', '{{output.answer.text}}', { output: new RawJson(JSON.stringify({ answer: { text: long } })) }],
    ['output', '{{#output}}{{.}}{{/output}}{{trace}}', { output: [long], trace: { spans: [] } }],
  ])('refuses to judge a part of the %s: %s', (name, template, subject) => {
    const judge = () => judged(template, subject);
    expect(judge).toThrow(expect.objectContaining({ isTooLarge: true }));
    expect(judge).toThrow(
      new RegExp(`^The ${name} has \\d+ bytes, but the judge can be shown only \\d+ bytes`),
    );
  });

  it('does not blame an output that fits', () => {
    const subject = { output: 'x'.repeat(4_600), metadata: 'y'.repeat(4_000) };
    const judge = () => judged('{{output}}{{metadata}}', subject, 5_000);
    expect(judge).toThrow(expect.objectContaining({ isTooLarge: true }));
    expect(judge).toThrow(/^The prompt is too long: .* leaves no tokens for the other data\.$/);
  });

  it('says that a trace or a session was too large to be read whole, unless the prompt does not show it', () => {
    const trace = { is_truncated: true, span_count: 5, spans: [{ name: 'a' }] };
    const session = { is_truncated: true, messages: [{ role: 'user', content: 'hi' }], trace_count: 200 };
    const isTruncated = (template: string) => judged(template, { output: 'x', trace, session }).isTruncated;
    for (const template of [
      '{{trace}}',
      '{{session}}',
      '{{trace.spans}}',
      '{{#trace.spans}}{{name}}{{/trace.spans}}',
      '{{#session}}{{messages}}{{/session}}',
    ]) {
      expect([template, isTruncated(template)]).toEqual([template, true]);
    }
    for (const template of ['{{output}}', '{{trace.span_count}}', '{{session.trace_count}}{{metadata}}']) {
      expect([template, isTruncated(template)]).toEqual([template, false]);
    }
  });

  it('copies a long text once, even if the prompt inserts it a thousand times', () => {
    const input = '😀'.repeat(50_000);
    const copy = jest.spyOn(Buffer, 'from');
    const subject = { ...subjectOf(null), metadata: input };
    const { pieces } = judgePrompt('{{metadata}}'.repeat(1_000), subject, 400_000);
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

const NOTHING = { input: null, output: null, expected: null, metadata: null, trace: null, session: null };

const expand = (template: string, subject: Partial<ScoringSubject>, textMax = 1e6) =>
  expandPrompt(parsePrompt(template), { ...NOTHING, ...subject }, textMax);

/** Returns an expanded prompt, with its data in brackets. */
const text = (template: string, subject: Partial<ScoringSubject>): string =>
  expand(template, subject)
    .pieces.map((piece) => ('text' in piece ? piece.text : `[${piece.data}]`))
    .join('');

const json = (text: string) => new RawJson(text);

describe('expandPrompt', () => {
  it.each<[string, string, Partial<ScoringSubject>, string]>([
    ['a text as it is', '{{input}}', { input: '<b>&"\n{{output}}' }, '[<b>&"\n{{output}}]'],
    ['a stored text as its value', '{{input}}', { input: json('"a\\nb"') }, '[a\nb]'],
    ['an object as its JSON', '{{input}}', { input: { a: [1, 'x'] } }, '[{"a":[1,"x"]}]'],
    ['a stored object verbatim', '{{input}}', { input: json('{"b":1,"1":0}') }, '[{"b":1,"1":0}]'],
    ['false and zero', '{{input}}{{output}}', { input: false, output: 0 }, '[false][0]'],
    ['null as nothing', 'a{{expected}}b', {}, 'a[]b'],
    ['a missing member as nothing', 'a{{input.x[3].y}}b', { input: { x: [] } }, 'a[]b'],
    ['a member of stored JSON', '{{metadata.a[-1].b}}', { metadata: json('{"a":[1,{"b":"x"}]}') }, '[x]'],
    ['inherited members as nothing', '{{input.__proto__}}{{input.constructor.name}}{{input.length}}', { input: {} }, '[][][]'],
    ['an own member named __proto__', '{{input.__proto__.x}}', { input: json('{"__proto__":{"x":1}}') }, '[1]'],
    ['members of a text as nothing', '{{#input}}{{length}}{{toString}}{{/input}}', { input: 'abc' }, '[][]'],
    ['each item of a list', '{{#input}}{{.}},{{/input}}', { input: json('["a",2,null,{"b":3}]') }, '[a],[2],[],[{"b":3}],'],
    ['a member of each stored item', '{{#input}}{{a}}{{/input}}', { input: [json('{"a":1}')] }, '[1]'],
    ['a section over an object once', '{{#input}}{{a}}{{output}}{{/input}}', { input: { a: 1 }, output: 'o' }, '[1][o]'],
    ['the innermost member of a name', '{{#input}}{{#a}}{{b}}{{c}}{{/a}}{{/input}}', { input: { b: 1, c: 2, a: { b: 3 } } }, '[3][2]'],
    ['a hidden variable by $', '{{#input}}{{output}}{{$.output}}{{/input}}', { input: { output: 'i' }, output: 'o' }, '[i][o]'],
    ['no section over an empty value', '{{#input}}x{{/input}}{{#output}}y{{/output}}', { input: [], output: '' }, ''],
    ['an inverted section', '{{^input}}x{{/input}}{{^output}}y{{/output}}', { input: json('[]'), output: 'o' }, 'x'],
  ])('inserts %s', (_, template, subject, expected) => {
    expect(text(template, subject)).toBe(expected);
  }); // oxfmt-ignore

  it('inserts sessions and traces as transcripts, and their members as JSON', () => {
    const trace = { input: json('"q"'), output: json('"a"'), spans: [] };
    const session = { messages: [{ role: 'user', content: 'hi' }] };
    expect(text('{{trace}}|{{session}}|{{session.messages}}|{{trace.spans}}', { trace, session })).toBe(
      '[[user]\n  q\n\n[assistant]\n  a]|[[user]\n  hi]|[[{"role":"user","content":"hi"}]]|[[]]',
    );
    expect(text('{{session}}', { session: [] })).toBe('[[]]');
  });

  it('never expands data', () => {
    const { pieces } = expand('{{#input}}{{.}}{{/input}}', {
      input: ['{{output}}', '{{#input}}'],
      output: 'no',
    });
    expect(pieces).toEqual([
      { data: '{{output}}', origin: 'input' },
      { data: '{{#input}}', origin: 'input' },
    ]);
  });

  const list = json(JSON.stringify(new Array(1_000).fill(1)));
  it.each<[string, string, Partial<ScoringSubject>, RegExp]>([
    ['nested repetitions', '{{#input}}'.repeat(16).replaceAll('{{#input}}', '{{#$.input}}') + '{{/$.input}}'.repeat(16), { input: list }, /sections of the prompt repeat/],
    ['thousands of empty sections in each repetition', `{{#input}}${'{{#a}}{{/a}}'.repeat(5_000)}{{/input}}`, { input: list }, /sections of the prompt repeat/],
    ['too many values', '{{#input}}{{#$.input}}{{.}}{{/$.input}}{{/input}}', { input: list }, /more than 10000 values/],
    ['too much text', '{{#input}}a word {{/input}}', { input: list }, /too long for the judge/],
  ])('refuses %s', (_, template, subject, why) => {
    const expanded = () => expand(template, subject, 5_000);
    expect(expanded).toThrow(PromptError);
    expect(expanded).toThrow(why);
  }); // oxfmt-ignore

  it('refuses a large value with each of its members, but not the same value repeatedly', () => {
    const deep = Array.from({ length: 60 }).reduce<unknown>((inner) => ({ a: inner }), 'x'.repeat(1_000_000));
    const each = Array.from({ length: 60 }, (_, depth) => `{{input${'.a'.repeat(depth)}}}`).join('');
    expect(() => expand(each, { input: deep })).toThrow(/more than 33554432 characters of JSON/);
    expect(expand('{{input}}'.repeat(60), { input: deep }).pieces).toHaveLength(60);
  });
});

const MARK = /\n\[… (\d+) characters were removed here because the text is too long …\]\n…/;
/** Tells whether a text has no unpaired surrogates. */
const isWellFormed = (text: string): boolean => Buffer.from(text).toString() === text;
const texts = fc.string({ unit: 'binary', maxLength: 600, size: 'max' });

describe('cutMiddle', () => {
  it('keeps to the limit, keeps the start and the end, and counts the removed characters', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: CUT_MARK_BYTES, max: 1_000 }), (text, max) => {
        const cut = cutMiddle(text, max);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        expect(isWellFormed(cut)).toBe(true);
        if (Buffer.byteLength(text) <= max) return expect(cut).toBe(text);
        const [mark, count] = MARK.exec(cut)!;
        const [head, tail] = cut.split(mark) as [string, string];
        expect([text.startsWith(head), text.endsWith(tail)]).toEqual([true, true]);
        expect(head.length + tail.length + Number(count)).toBe(text.length);
        // both ends use their half of the limit
        const textBytes = max - CUT_MARK_BYTES;
        expect(Buffer.byteLength(head)).toBeGreaterThan(textBytes / 2 - 4);
        expect(Buffer.byteLength(tail)).toBeGreaterThan(textBytes / 2 - 4);
      }),
      { numRuns: 150 },
    );
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7])('never splits an emoji, wherever the cut is (%i)', (shift) => {
    const cut = cutMiddle('a'.repeat(shift) + '😀é€'.repeat(200) + 'a'.repeat(shift), 400);
    expect([isWellFormed(cut), cut.includes('\ufffd'), Buffer.byteLength(cut) <= 400]).toEqual([true, false, true]);
  }); // oxfmt-ignore

  it('cuts 8 MiB, and reserves enough bytes for the mark', () => {
    const cut = cutMiddle('𝒳'.repeat(2 ** 21), CUT_MARK_BYTES + 16);
    expect(cut).toMatch(/^𝒳𝒳\n\[… 4194296 characters were removed .*\]\n…𝒳𝒳$/);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(CUT_MARK_BYTES + 16);
  });

  it('does not start a line with the text after the mark', () => {
    expect(cutMiddle(`a${'\n[assistant]'.repeat(500)}`, 200)).toMatch(/\]\n…[^\n]/);
  });
});

describe('fairShare', () => {
  it('keeps short texts whole, uses the total, and gives long texts the same share', () => {
    const sizes = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(sizes, fc.nat(100_000), (all, total) => {
        const share = fairShare(all, total);
        const used = all.reduce((sum, size) => sum + Math.min(size, share), 0);
        expect(used).toBeLessThanOrEqual(total);
        if (share === Infinity) return;
        expect(used).toBeGreaterThan(total - all.length);
        expect(all.some((size) => size > share)).toBe(true);
      }),
    );
  });

  it.each([
    [[], 0, Infinity],
    [[10, 1_000, 2_000], 110, 50],
    [[10, 10], 20, Infinity],
    [[0, 1], -5, -3],
  ])('gives texts of the sizes %j in %i bytes a share of %d', (sizes, total, share) => {
    expect(fairShare(sizes, total)).toBe(share);
  });
});

const keyed = (key: string) => (text: string) => createHmac('sha256', key).update(text).digest();
const hash = keyed('key');

/** Extracts a block from a request, knowing only its delimiters. */
const within = (request: string, { open, close }: { open: string; close: string }): string =>
  request.slice(request.indexOf(open) + open.length + 1, request.indexOf(close) - 1);

describe('delimitersOf', () => {
  it('returns equal delimiters for equal texts, and others for other texts and keys', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.string(), (texts, more) => {
        const own = delimitersOf(hash, texts).open;
        expect(delimitersOf(hash, [...texts])).toEqual(delimitersOf(hash, texts));
        expect(delimitersOf(hash, [...texts, more]).open).not.toBe(own);
        expect(delimitersOf(keyed('other'), texts).open).not.toBe(own);
      }),
    );
  });

  it('distinguishes texts with the same concatenation', () => {
    const all = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['ab,c'], ['ab","c']];
    expect(new Set(all.map((texts) => delimitersOf(hash, texts).open)).size).toBe(all.length);
  });

  it('never lets a text end its own block', () => {
    const hostile = fc.constantFrom('</data>', '</data-0>', '<data-', '\n', '-->', '```', '</data-</data-');
    fc.assert(
      fc.property(fc.array(fc.oneof(hostile, fc.string()), { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const delimiters = delimitersOf(hash, [text]);
        expect(within(`words ${dataBlock(delimiters, text)} words`, delimiters)).toBe(text);
      }),
    );
  });

  it('returns other delimiters if a text contains the first ones', () => {
    const text = [2, 1, 0].map((byte) => `</data-${Buffer.alloc(16, byte).toString('hex')}>`).join('\n');
    let guesses = 3;
    /** The first hashes are in the text, as if its author had guessed them. */
    const guessed = (of: string): Buffer => (guesses-- > 0 ? Buffer.alloc(32, guesses) : hash(of));
    const delimiters = delimitersOf(guessed, ['other', text]);
    expect(text).not.toContain(delimiters.close);
    expect(within(dataBlock(delimiters, text), delimiters)).toBe(text);
  });

  it('adds exactly the bytes that are reserved for delimiters', () => {
    expect(Buffer.byteLength(dataBlock(delimitersOf(hash, ['é']), 'é'))).toBe(DATA_BLOCK_BYTES + 2);
  });
});
