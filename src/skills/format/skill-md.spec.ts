import fc from 'fast-check';
import { canonicalJson } from '#platform/json';
import { SkillMd } from './skill-md';
import { isTool, type SkillMembers, toolsOf } from './skill-members';

const text = (max: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: max })
    .filter((one) => one.trim() !== '' && !one.includes('\0') && !/\p{Cs}/u.test(one));

/** Strings that YAML parses as something else unless they are quoted. */
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

describe('SkillMd', () => {
  it('writes members that read back the same', () => {
    fc.assert(
      fc.property(members, (input) => {
        expect(canonicalJson(SkillMd.read(SkillMd.create(input).bytes).members)).toBe(canonicalJson(input));
      }),
      { numRuns: 100 },
    );
  });

  it('edits members so that they read back the same', () => {
    fc.assert(
      fc.property(members, members, (before, after) => {
        const edited = SkillMd.create(before).edit({ ...after, name: before.name });
        expect(canonicalJson(SkillMd.read(edited.bytes).members)).toBe(
          canonicalJson({ ...after, name: before.name }),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('keeps all bytes if an edit changes nothing', () => {
    const bytes = Buffer.from('---\nname:   a # b\ndescription: >-\n   d\n\nx: {a:   1}\n---   \nbody');
    const read = SkillMd.read(bytes);
    expect(read.edit(read.members).bytes).toEqual(bytes);
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

  it('writes -0 as 0, because JSON does not distinguish them', () => {
    const metadata = { x: -0, y: [{ z: -0 }] };
    const zeros = JSON.stringify({ x: 0, y: [{ z: 0 }] });
    const written = SkillMd.create({ ...PLAIN, metadata });
    expect(JSON.stringify(written.members.metadata)).toBe(zeros);
    const edited = SkillMd.create(PLAIN).edit({ ...PLAIN, metadata });
    expect(JSON.stringify(edited.members.metadata)).toBe(zeros);
  });

  it('rejects members that it cannot represent, with separate messages for creating and editing', () => {
    const input = { ...PLAIN, allowed_tools: ['one tool that reads as many'] };
    expect(() => SkillMd.create(input)).toThrow(/cannot represent these members/);
    expect(() => SkillMd.create(PLAIN).edit(input)).toThrow(/cannot be edited/);
  });

  it('keeps misspelt names that are stored, and rejects them in an upload', () => {
    const bytes = Buffer.from('---\nname: a\ndescription: d\nlicence: MIT\n---\n\nbody');
    expect(() => SkillMd.read(bytes, true)).toThrow();
    const read = SkillMd.read(bytes);
    const edited = read.edit({ ...read.members, description: 'e' });
    expect(edited.bytes.toString()).toBe('---\nname: a\ndescription: e\nlicence: MIT\n---\n\nbody');
  });

  it('accepts a file that ends with its frontmatter', () => {
    const read = SkillMd.read(Buffer.from('---\nname: a\ndescription: d\n---'));
    expect(read.members.instructions).toBe('');
    expect(read.edit({ ...read.members, instructions: 'x' }).bytes.toString()).toBe(
      '---\nname: a\ndescription: d\n---\n\nx',
    );
  });
});

describe('the allowed tools', () => {
  it.each([
    ['Read Grep', ['Read', 'Grep']],
    ['Read, Grep,Glob', ['Read', 'Grep', 'Glob']],
    [' Bash(git add:*),  Bash(a, (b) c) Read ', ['Bash(git add:*)', 'Bash(a, (b) c)', 'Read']],
    ['', []],
    ['a) b', ['a)', 'b']],
    ['Bash(git', ['Bash(git']],
  ])('are read from %j as %j', (list, tools) => {
    expect(toolsOf(list)).toEqual(tools);
  });

  it.each(['a b', 'a,b', '', 'Bash(git', 'a\tb', 'a\u0000', 'x'.repeat(256)])('cannot include %j', (tool) => {
    expect(isTool(tool)).toBe(false);
  });
});
