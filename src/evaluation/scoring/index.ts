export { ScoringModule } from './scoring.module';
