import { setTimeout as sleep } from 'node:timers/promises';
import { ObjectStorage } from '#platform/storage';
import { createTestApp } from '#testing';
import { FileCallers } from './files.fixture';

describe('a download whose storage is slow', () => {
  it('is 504, and does not keep the object open once its first bytes arrive', async () => {
    const app = await createTestApp({ env: { REQUEST_TIMEOUT_MS: '500' } });
    const callers = await FileCallers.of(app);
    const { body: file } = await callers.upload(Buffer.from('late'));
    let isOpen = false;
    const read = jest.spyOn(app.get(ObjectStorage), 'read').mockImplementation(async function* () {
      isOpen = true;
      try {
        await sleep(1_500);
        yield Buffer.from('late');
      } finally {
        isOpen = false;
      }
    });
    const answer = await callers.editor.get(`/file/v1/files/${file.file_id}/content`);
    expect([answer.status, answer.body.code, isOpen]).toEqual([504, 'request_timeout', true]);
    await sleep(2_000);
    expect(isOpen).toBe(false);
    read.mockRestore();
    await app.close();
  }, 30_000);
});
