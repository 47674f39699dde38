import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { sharedApp } from '#testing';
import { SkillCallers, skillMd, unzipped } from './skills.fixture';
import { type RawEntry, zipOf } from './zip.fixture';

let made = 0;
const newName = (): string => `structure-${(made += 1)}`;
const file = (name: string, more: Partial<RawEntry> = {}): RawEntry => ({ name, content: 'x', ...more });

describe('the structure of an archive', () => {
  const app = sharedApp();
  let callers: SkillCallers;

  beforeAll(async () => {
    callers = await SkillCallers.of(app);
  });

  it.each([false, true])(
    'may be a stream that another library wrote (zip64: %s)',
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

  it('may start every path with ./', async () => {
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
