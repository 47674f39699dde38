export { LoadShedder } from './load-shedder';
export { OverloadModule } from './overload.module';
