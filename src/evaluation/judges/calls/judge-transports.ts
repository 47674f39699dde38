import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '#platform/config';
import { JudgeTransport } from './judge-transport';

/** The ways to the judges that the environment configures; they are closed with the application. */
@Injectable()
export class JudgeTransports implements OnApplicationShutdown {
  readonly llm: JudgeTransport | undefined;
  readonly classifier: JudgeTransport | undefined;

  constructor(environment: Environment) {
    const { JUDGE_BASE_URL, JUDGE_API_KEY, CLASSIFIER_BASE_URL, CLASSIFIER_API_KEY } = environment;
    const timeoutMs = environment.JUDGE_TIMEOUT_MS;
    if (JUDGE_BASE_URL !== undefined) {
      const url = chatCompletionsOf(JUDGE_BASE_URL);
      this.llm = new JudgeTransport({ url, apiKey: JUDGE_API_KEY, timeoutMs });
    }
    if (CLASSIFIER_BASE_URL !== undefined) {
      this.classifier = new JudgeTransport({
        url: CLASSIFIER_BASE_URL,
        apiKey: CLASSIFIER_API_KEY,
        timeoutMs,
      });
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.llm?.close(), this.classifier?.close()]);
  }
}

/** Below the base, as clients of OpenAI's API read it; what it has of a query stays. */
function chatCompletionsOf(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/(\/chat\/completions)?\/*$/, '')}/chat/completions`;
  return url.href;
}
