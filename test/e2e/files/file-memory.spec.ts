import { digestOf, MeasuredService } from './file-memory.harness';

/** Size of the files, in MiB. */
const SIZE = 64;
const READERS = 20;
const READING_SECONDS = 2;

describe('the memory of the service, worker included, which receives and sends large files', () => {
  let service: MeasuredService;

  beforeAll(async () => {
    service = await MeasuredService.startStandalone();
  }, 180_000);
  afterAll(() => service.stop());

  it('stays below 200 MiB', async () => {
    const digest = digestOf(SIZE);
    const peaks: Record<string, number> = { started: await service.peak() };
    const raw = await service.upload('raw', SIZE, 'raw');
    peaks.raw = await service.peak();
    const form = await service.upload('form', SIZE, 'form');
    peaks.form = await service.peak();
    for (const path of [raw, form]) expect(await service.download(path)).toBe(digest);
    peaks.downloaded = await service.peak();
    expect(await service.readSlowly(raw, READERS, READING_SECONDS)).toBe(READERS);
    peaks.slowly = await service.peak();
    if (process.env.TEST_SHOW_MEMORY === '1') process.stderr.write(`${JSON.stringify(peaks)}\n`);
    expect(Math.max(...Object.values(peaks))).toBeLessThan(200);
  }, 600_000);
});
