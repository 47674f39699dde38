import { currentTraceId, observe, startTracing } from '#client/otel';

/** How the process ends: with a status, by a signal, or by its own listener of a signal, which is older than tracing. */
type Ending = 'status' | 'signal' | 'listener';

/** Records one span, and prints its trace. */
async function main(ending: Ending): Promise<void> {
  const timer = setInterval(() => undefined, 1_000);
  if (ending === 'listener') {
    process.once('SIGTERM', () => {
      process.exitCode = 4;
      clearInterval(timer);
    });
    startTracing();
  }
  const answer = observe('answer', async (question: string) => {
    await Promise.resolve();
    console.log(currentTraceId() ?? 'no trace');
    return question.toUpperCase();
  });
  await answer('why?');
  if (ending === 'status') {
    process.exitCode = 3;
    clearInterval(timer);
  }
}

void main(process.argv[2] as Ending);
