import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { crc32, deflateRawSync } from 'node:zlib';
import { ZipFile } from 'yazl';
import { createTestApp, type TestApp } from '#testing';
import { SkillCallers, skillMd, unzipped } from './skills.fixture';
import { extraField, type RawEntry, zipOf } from './zip.fixture';

let made = 0;
const newName = (): string => `structure-${(made += 1)}`;
const skill = (): RawEntry => ({ name: 'SKILL.md', content: skillMd(newName()) });
const file = (name: string, more: Partial<RawEntry> = {}): RawEntry => ({ name, content: 'x', ...more });

const UTF8 = 1 << 11;
const DESCRIBED_BEHIND = UTF8 | (1 << 3);
const LEFT_OUT = { crc: 0, packed: 0, size: 0 };
const SIGNATURE = Buffer.from('PK\x07\x08', 'latin1');

/** What follows the bytes of an entry. @param bytes of each size, 4 or 8 */
function descriptor(content: string, { bytes = 4, isSigned = true, size = content.length } = {}): Buffer {
  const told = Buffer.alloc(4 + 2 * bytes);
  told.writeUInt32LE(crc32(content), 0);
  told.writeUIntLE(size, 4, 4);
  told.writeUIntLE(size, 4 + bytes, 4);
  return isSigned ? Buffer.concat([SIGNATURE, told]) : told;
}

/** Field 1: sizes of 8 bytes. */
function largeSizes(...sizes: number[]): Buffer {
  const data = Buffer.alloc(8 * sizes.length);
  for (const [index, size] of sizes.entries()) data.writeBigUInt64LE(BigInt(size), 8 * index);
  return extraField(1, data);
}

describe('an archive whose parts are to say the same', () => {
  let app: TestApp;
  let callers: SkillCallers;

  beforeAll(async () => {
    app = await createTestApp();
    callers = await SkillCallers.of(app);
  });
  afterAll(() => app.close());

  const hidden = () => {
    const whole = zipOf([file('hidden')]);
    return whole.subarray(0, whole.indexOf('PK\x01\x02', 0, 'latin1'));
  };
  const ends = /not a well-formed/;
  const differs = /another size, checksum, compression or encryption/;
  const gap = /bytes that belong to no file/;
  const archives: [string, () => Buffer, RegExp][] = [
    ['whose end counts fewer entries', () => zipOf([skill(), file('a')], { count: 1, countHere: 1 }), ends],
    ['whose end counts more entries here', () => zipOf([skill(), file('a')], { countHere: 3 }), ends],
    ['whose end tells a shorter directory', () => zipOf([skill(), file('a')], { size: 54 }), ends],
    ['with bytes behind its directory', () => zipOf([skill()], { between: Buffer.from('more') }), ends],
    [
      'with a header before which another checksum stands',
      () => zipOf([skill(), file('a', { local: { crc: 1 } })]),
      differs,
    ],
    ['with another size before', () => zipOf([skill(), file('a', { local: { size: 2 } })]), differs],
    ['with another packed size before', () => zipOf([skill(), file('a', { local: { packed: 2 } })]), differs],
    ['with another compression before', () => zipOf([skill(), file('a', { local: { method: 8 } })]), differs],
    ['that is encrypted before', () => zipOf([skill(), file('a', { local: { flags: UTF8 | 1 } })]), differs],
    [
      'without sizes before, and no descriptor',
      () => zipOf([skill(), file('a', { local: LEFT_OUT })]),
      differs,
    ],
    [
      'with another size before, and a descriptor',
      () =>
        zipOf([
          skill(),
          file('a', { flags: DESCRIBED_BEHIND, local: { ...LEFT_OUT, size: 2 }, behind: descriptor('x') }),
        ]),
      differs,
    ],
    [
      'with other large sizes before',
      () =>
        zipOf([
          skill(),
          file('a', { local: { size: 0xffffffff, packed: 0xffffffff, extra: largeSizes(2, 1) } }),
        ]),
      differs,
    ],
    ['with a name in UTF-8 here alone', () => zipOf([skill(), file('ä', { local: { flags: 0 } })]), differs],
    ['with an entry that is not listed', () => zipOf([skill(), file('a', { behind: hidden() })]), gap],
    [
      'with an entry before all others',
      () => {
        const whole = zipOf([skill()]);
        const before = hidden();
        const central = whole.indexOf('PK\x01\x02', 0, 'latin1');
        const moved = Buffer.concat([before, whole]);
        moved.writeUInt32LE(before.length, before.length + central + 42);
        moved.writeUInt32LE(before.length + central, moved.length - 6);
        return moved;
      },
      gap,
    ],
    [
      'with a descriptor that is not told of',
      () => zipOf([skill(), file('a', { behind: descriptor('x') })]),
      gap,
    ],
    [
      'without the descriptor that is told of',
      () => zipOf([skill(), file('a', { flags: DESCRIBED_BEHIND, local: LEFT_OUT })]),
      gap,
    ],
    [
      'with a descriptor of another size',
      () => zipOf([skill(), file('a', { flags: DESCRIBED_BEHIND, behind: descriptor('x', { size: 2 }) })]),
      gap,
    ],
    [
      'with a descriptor of another content',
      () => zipOf([skill(), file('a', { flags: DESCRIBED_BEHIND, behind: descriptor('y') })]),
      gap,
    ],
    [
      'with a large descriptor of another size',
      () =>
        zipOf([
          skill(),
          file('a', { flags: DESCRIBED_BEHIND, behind: descriptor('x', { size: 2, bytes: 8 }) }),
        ]),
      gap,
    ],
  ];

  it.each(archives)('%s is refused', async (_, zip, told) => {
    const answer = await callers.upload(zip());
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toMatch(told);
  });

  it.each<[string, Partial<RawEntry>]>([
    ['a descriptor', { local: LEFT_OUT, behind: descriptor('x') }],
    ['a descriptor without its signature', { local: LEFT_OUT, behind: descriptor('x', { isSigned: false }) }],
    ['a large descriptor', { local: LEFT_OUT, behind: descriptor('x', { bytes: 8 }) }],
    [
      'a large descriptor without its signature',
      { local: LEFT_OUT, behind: descriptor('x', { bytes: 8, isSigned: false }) },
    ],
    ['sizes before and in a descriptor', { behind: descriptor('x') }],
    ['sizes before, and a descriptor that is only told of', {}],
    [
      'large sizes before',
      { flags: UTF8, local: { size: 0xffffffff, packed: 0xffffffff, extra: largeSizes(1, 1) } },
    ],
    [
      'large sizes that are left out before',
      {
        local: { ...LEFT_OUT, size: 0xffffffff, packed: 0xffffffff, extra: largeSizes(0, 0) },
        behind: descriptor('x', { bytes: 8 }),
      },
    ],
    [
      'other flags of how hard it was compressed',
      { flags: UTF8, method: 8, packed: deflateRawSync('x'), local: { flags: UTF8 | 6 } },
    ],
    ['a name that is the same in ASCII', { flags: 0, local: { flags: UTF8 } }],
  ])('is taken with %s', async (_, more) => {
    const one = skill();
    const zip = zipOf([file('a', { flags: DESCRIBED_BEHIND, ...more }), one], { comment: 'of a tool' });
    const answer = await callers.upload(zip);
    expect([answer.body.detail, answer.status]).toEqual([undefined, 201]);
    expect(answer.body.file_count).toBe(2);
  });

  it.each([false, true])(
    'is taken as a library of others writes it, as a stream (zip64: %s)',
    async (forceZip64Format) => {
      const zip = new ZipFile();
      const name = newName();
      zip.addEmptyDirectory(`${name}/scripts`);
      zip.addReadStream(Readable.from([skillMd(name)]), `${name}/SKILL.md`, { forceZip64Format });
      zip.addReadStream(Readable.from(['stored']), `${name}/scripts/ä`, {
        compress: false,
        forceZip64Format,
      });
      zip.addBuffer(Buffer.from('more'), `${name}/more`, { forceZip64Format });
      zip.end({ forceZip64Format, comment: '' });
      const answer = await callers.upload(await buffer(zip.outputStream));
      expect([answer.body.detail, answer.status]).toEqual([undefined, 201]);
      const { bytes } = await callers.download(`${answer.headers.get('location')}/versions/1/content`);
      expect([...(await unzipped(bytes))].slice(1)).toEqual([
        [`${name}/more`, 'more'],
        [`${name}/scripts/ä`, 'stored'],
      ]);
    },
  );

  it('of zip64 whose ends differ is refused', async () => {
    const zip = new ZipFile();
    zip.addBuffer(Buffer.from(skillMd(newName())), 'SKILL.md');
    zip.end({ forceZip64Format: true, comment: '' });
    const whole = await buffer(zip.outputStream);
    const large = whole.lastIndexOf('PK\x06\x06', undefined, 'latin1');
    for (const at of [4, 16, 20, 24, 40]) {
      const other = Buffer.from(whole);
      other.writeUInt8(other.readUInt8(large + at) + 1, large + at);
      const answer = await callers.upload(other);
      expect([at, answer.status, answer.body.detail]).toEqual([at, 400, expect.stringMatching(ends)]);
    }
  });

  it('is taken, as forms are, where every path begins with ./', async () => {
    const [zipped, formed] = [newName(), newName()];
    const answers = [
      await callers.upload(
        zipOf([
          { name: './', content: '', mode: 0o040755 },
          { name: `./${zipped}/SKILL.md`, content: skillMd(zipped) },
          file(`./././${zipped}/a`),
        ]),
      ),
      await callers.uploadForm([
        ['./SKILL.md', skillMd(formed)],
        ['././a', 'x'],
      ]),
    ];
    expect(answers.map(({ status, body }) => [status, body.file_count])).toEqual([
      [201, 2],
      [201, 2],
    ]);
    const refused = await callers.uploadForm([
      ['./SKILL.md', skillMd(newName())],
      ['a/./b', 'x'],
    ]);
    expect([refused.status, refused.body.detail]).toEqual([
      400,
      expect.stringMatching(/leave the directory/),
    ]);
  });
});
