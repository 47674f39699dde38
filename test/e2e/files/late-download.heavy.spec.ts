import { ObjectStorage } from '#platform/storage';
import { createTestApp } from '#testing';
import { FileCallers } from './files.fixture';

describe('a download whose storage is slow', () => {
  it('returns 504, and closes the object once its first bytes arrive', async () => {
    const app = await createTestApp();
    const callers = await FileCallers.of(app);
    const { body: file } = await callers.upload(Buffer.from('late'));
    const hasty = await app.another({ REQUEST_TIMEOUT_MS: '3000' });
    const api = hasty.api(callers.token);
    await api.get('/file/v1/files'); // opens a connection to the database
    let isOpen = false;
    let arrive!: () => void;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    let close!: () => void;
    const closed = new Promise<void>((resolve) => (close = resolve));
    const read = jest.spyOn(hasty.get(ObjectStorage), 'read').mockImplementation(async function* () {
      isOpen = true;
      try {
        await arrived;
        yield Buffer.from('late');
      } finally {
        close();
      }
    });
    const answer = await api.get(`/file/v1/files/${file.file_id}/content`);
    expect([answer.status, answer.body.code, isOpen]).toEqual([504, 'request_timeout', true]);
    arrive();
    await closed;
    read.mockRestore();
    await hasty.close();
    await app.close();
  });
});
