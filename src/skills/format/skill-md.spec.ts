import fc from 'fast-check';
import { canonicalJson } from '#platform/json';
import { SkillMd } from './skill-md';
import { isTool, type SkillMembers, toolsOf } from './skill-members';

const text = (max: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: max })
    .filter((one) => one.trim() !== '' && !one.includes('\0') && !/\p{Cs}/u.test(one));

/** Texts that YAML reads as something else where they are not quoted. */
const TRAPS = [
  'yes',
  'null',
  '~',
  '1.0',
  '0x1',
  '- a',
  '? b',
  '---',
  '...',
  '&a',
  '*a',
  '!!x',
  '#',
  ': ',
  "'",
  '"',
  '|',
  '>',
];

const members: fc.Arbitrary<SkillMembers> = fc.record({
  name: fc.constantFrom('a', 'pdf-forms', '1', 'null', '0x1'),
  description: fc.oneof(text(50), fc.constantFrom(...TRAPS.filter((one) => one.trim() !== ''))),
  license: fc.option(fc.oneof(text(20), fc.constantFrom('2.0', 'a\n---\nb', ' lead', 'trail ', 'x\r\ny'))),
  compatibility: fc.option(text(20)),
  allowed_tools: fc.option(
    fc.array(fc.constantFrom('Read', 'Bash(git add:*)', '1', 'null', '*', '#x'), { maxLength: 3 }),
  ),
  metadata: fc
    .dictionary(
      fc.oneof(text(8), fc.constantFrom('__proto__', '1', '', ...TRAPS)),
      fc.oneof(
        fc.constantFrom<unknown>(...TRAPS, 1, -0.5, 1e21, true, null),
        fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
      ),
      { maxKeys: 4 },
    )
    .filter((one) => !JSON.stringify(one).includes('\\u')),
  instructions: fc
    .oneof(fc.string(), fc.constantFrom('\n', '---\n', '\r\n\r\n# x', ''))
    .filter((one) => !one.includes('\0')),
});

describe('SKILL.md', () => {
  it('that is written of members says them', () => {
    fc.assert(
      fc.property(members, (given) => {
        expect(canonicalJson(SkillMd.read(SkillMd.written(given).bytes).members)).toBe(canonicalJson(given));
      }),
      { numRuns: 200 },
    );
  });

  it('that is edited into other members says those', () => {
    fc.assert(
      fc.property(members, members, (before, after) => {
        const edited = SkillMd.written(before).edited({ ...after, name: before.name });
        expect(canonicalJson(SkillMd.read(edited.bytes).members)).toBe(
          canonicalJson({ ...after, name: before.name }),
        );
      }),
      { numRuns: 200 },
    );
  });

  it('that is edited into itself is the same bytes', () => {
    const bytes = Buffer.from('---\nname:   a # b\ndescription: >-\n   d\n\nx: {a:   1}\n---   \nbody');
    const read = SkillMd.read(bytes);
    expect(read.edited(read.members).bytes).toEqual(bytes);
  });

  const PLAIN: SkillMembers = {
    name: 'a',
    description: 'd',
    license: null,
    compatibility: null,
    allowed_tools: null,
    metadata: {},
    instructions: '',
  };

  it('has 0 for -0, which JSON does not tell apart', () => {
    const metadata = { x: -0, y: [{ z: -0 }] };
    const zeros = JSON.stringify({ x: 0, y: [{ z: 0 }] });
    const written = SkillMd.written({ ...PLAIN, metadata });
    expect(JSON.stringify(written.members.metadata)).toBe(zeros);
    const edited = SkillMd.written(PLAIN).edited({ ...PLAIN, metadata });
    expect(JSON.stringify(edited.members.metadata)).toBe(zeros);
  });

  it('that cannot say what was given is not written, and tells that, not of a form that nobody sent', () => {
    const given = { ...PLAIN, allowed_tools: ['one tool that reads as many'] };
    expect(() => SkillMd.written(given)).toThrow(/cannot represent these members/);
    expect(() => SkillMd.written(PLAIN).edited(given)).toThrow(/cannot be edited/);
  });

  it('may end with its frontmatter', () => {
    const read = SkillMd.read(Buffer.from('---\nname: a\ndescription: d\n---'));
    expect(read.members.instructions).toBe('');
    expect(read.edited({ ...read.members, instructions: 'x' }).bytes.toString()).toBe(
      '---\nname: a\ndescription: d\n---\n\nx',
    );
  });
});

describe('allowed tools', () => {
  it.each([
    ['Read Grep', ['Read', 'Grep']],
    ['Read, Grep,Glob', ['Read', 'Grep', 'Glob']],
    [' Bash(git add:*),  Bash(a, (b) c) Read ', ['Bash(git add:*)', 'Bash(a, (b) c)', 'Read']],
    ['', []],
    ['a) b', ['a)', 'b']],
    ['Bash(git', ['Bash(git']],
  ])('of %j are %j', (given, tools) => {
    expect(toolsOf(given)).toEqual(tools);
  });

  it.each(['a b', 'a,b', '', 'Bash(git', 'a\tb', 'a\u0000', 'x'.repeat(256)])(
    'have none such as %j',
    (tool) => {
      expect(isTool(tool)).toBe(false);
    },
  );
});
