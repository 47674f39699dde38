import { describeGuide, Guide, StandaloneService } from '#testing';

const PAGE = 'docs/guides/publish-and-install.md';

describeGuide(PAGE, () => {
  it('runs as written, and verifies the downloaded package', async () => {
    const service = await StandaloneService.start();
    const guide = Guide.open(PAGE, service);
    try {
      const printed = (await guide.rest()).join('');
      expect(printed).toContain('is verified: 3 files, 1 components.');
      expect(printed).toContain('Signed by the publisher');
      expect(printed).toContain('release-notes: updated');
      expect(printed.trim().endsWith('false')).toBe(true);
    } finally {
      guide.close();
      await service.stop();
    }
  }, 120_000);
});
