import { createHash } from 'node:crypto';
import { sharedApp } from '#testing';
import { SkillCallers, skillMd, unzipped } from './skills.fixture';
import { zipOf } from './zip.fixture';

const MIB = 1024 * 1024;

describe('versions of skills', () => {
  const app = sharedApp();

  it('hold 1,000 files and 32 MiB, and stream', async () => {
    const callers = await SkillCallers.of(app);
    const name = 'large';
    const large = Buffer.alloc(31 * MIB, 'large');
    const files = [
      { name: 'SKILL.md', content: skillMd(name) },
      { name: 'large.bin', content: large, method: 8 },
      ...Array.from({ length: 998 }, (_, i) => ({
        name: `f/${String(i).padStart(3, '0')}`,
        content: `${i}`,
      })),
    ];
    const answer = await callers.upload(zipOf(files));
    expect(answer.body).toMatchObject({ file_count: 1000 });
    const location = answer.headers.get('location')!;
    expect((await callers.editor.patch(location, { license: 'MIT' })).body).toMatchObject({
      file_count: 1000,
    });
    const { headers, bytes } = await callers.download(`${location}/versions/2/content`);
    expect(headers.get('etag')).toBe(`"${createHash('sha256').update(bytes).digest('hex')}"`);
    const entries = await unzipped(bytes);
    expect(entries.size).toBe(1000);
    expect(entries.get(`${name}/large.bin`) === large.toString('latin1')).toBe(true);
    expect(entries.get(`${name}/f/997`)).toBe('997');
  });
});
