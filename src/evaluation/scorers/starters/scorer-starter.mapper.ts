import type { ScorerStarterDto, StarterExampleDto } from './scorer-starter.dto';
import type { ScorerStarter, StarterExample } from './starter.types';

export const toScorerStarterDto = (starter: ScorerStarter): ScorerStarterDto => ({
  starter_id: starter.starter_id,
  name: starter.name,
  description: starter.description,
  scorer_kind: starter.scorer_kind,
  grain: starter.grain,
  definition: starter.definition,
  tags: starter.tags,
  example: toExampleDto(starter.passing),
  failing_example: toExampleDto(starter.failing),
});

const toExampleDto = ({ subject, answer, score }: StarterExample): StarterExampleDto => ({
  subject: {
    input: subject.input ?? null,
    output: subject.output ?? null,
    expected: subject.expected ?? null,
    metadata: subject.metadata ?? null,
    trace: subject.trace ?? null,
    session: subject.session ?? null,
  },
  ...(answer && { answer }),
  result: { score },
});
