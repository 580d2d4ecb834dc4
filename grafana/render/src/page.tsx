// Draws one shipped dashboard with @grafana/scenes: the page's address says which one and where the data is.
import {
  createTheme,
  EventBusSrv,
  dataLinksOverrideProcessor,
  displayNameOverrideProcessor,
  identityOverrideProcessor,
  LoadingState,
  numberOverrideProcessor,
  standardEditorsRegistry,
  standardFieldConfigEditorRegistry,
  standardTransformers,
  standardTransformersRegistry,
  stringOverrideProcessor,
  thresholdsOverrideProcessor,
  toDataFrame,
  unitOverrideProcessor,
  valueMappingsOverrideProcessor,
  ThemeContext,
} from '@grafana/data';
import {
  config,
  setAppEvents,
  setBackendSrv,
  setDataSourceSrv,
  setPluginImportUtils,
  setRunRequest,
} from '@grafana/runtime';
import {
  DataSourceVariable,
  EmbeddedScene,
  QueryVariable,
  SceneDataTransformer,
  SceneGridItem,
  SceneGridLayout,
  SceneGridRow,
  SceneQueryRunner,
  SceneTimePicker,
  SceneTimeRange,
  SceneVariableSet,
  TextBoxVariable,
  VariableValueSelectors,
  VizPanel,
} from '@grafana/scenes';
import { GlobalStyles } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { MemoryRouter } from 'react-router-dom';
import { map } from 'rxjs';

import { log, makeSources, setScrapeInterval } from './datasources';
import { PANELS } from './panels';

const wanted = new URLSearchParams(location.search);
const sources = makeSources({ prometheus: '/prometheus', jaeger: '/jaeger' });
const theme = createTheme({ colors: { mode: 'dark' } });

function prepare() {
  setScrapeInterval(Number(wanted.get('interval') ?? 60));
  Object.assign(config, { theme2: theme, panels: Object.fromEntries(Object.entries(PANELS).map(([id, { meta }]) => [id, meta])) });
  const editors = [
    ['unit', unitOverrideProcessor], ['min', numberOverrideProcessor], ['max', numberOverrideProcessor],
    ['decimals', numberOverrideProcessor], ['displayName', displayNameOverrideProcessor],
    ['noValue', stringOverrideProcessor], ['color', identityOverrideProcessor], ['thresholds', thresholdsOverrideProcessor],
    ['mappings', valueMappingsOverrideProcessor], ['links', dataLinksOverrideProcessor],
  ] as const;
  standardEditorsRegistry.setInit(() => []);
  standardFieldConfigEditorRegistry.setInit(() =>
    editors.map(([id, process]) => ({
      id, path: id, name: id, description: '', editor: () => null, override: () => null, process,
      shouldApply: () => true, settings: id === 'unit' ? {} : {}, category: [],
    })) as any,
  );
  standardTransformersRegistry.setInit(() =>
    [standardTransformers.joinByFieldTransformer, standardTransformers.organizeFieldsTransformer].map((transformation) => ({
      id: transformation.id, name: transformation.name, transformation, editor: () => null,
    })) as any,
  );
  setAppEvents(new EventBusSrv());
  setBackendSrv({} as any);
  const find = (ref: any) => {
    const name = typeof ref === 'string' ? ref : (ref?.type ?? ref?.uid);
    return name?.includes('jaeger') ? 'jaeger' : 'prometheus';
  };
  setDataSourceSrv({
    get: async (ref: any) => sources[find(ref)],
    getInstanceSettings: (ref: any) => sources.settings[find(ref)],
    getList: ({ pluginId }: any) => Object.values(sources.settings).filter(({ type }) => !pluginId || type === pluginId),
    reload: () => {},
  } as any);
  setRunRequest(((source: any, request: any) =>
    source.query(request).pipe(
      map(({ data }: any) => {
        const frames = data.map(toDataFrame);
        const exemplars = frames.filter((frame: any) => frame.meta?.dataTopic === 'annotations');
        return {
          state: LoadingState.Done, request, timeRange: request.range, annotations: exemplars,
          series: frames.filter((frame: any) => !exemplars.includes(frame)),
        };
      }),
    )) as any);
  setPluginImportUtils({
    importPanelPlugin: async (id: string) => PANELS[id],
    getPanelPluginFromCache: (id: string) => PANELS[id],
  });
}

function variable(one: any) {
  const common = { name: one.name, label: one.label, value: one.current?.value ?? '', text: one.current?.text ?? '' };
  if (one.type === 'datasource') {
    return new DataSourceVariable({ name: one.name, label: one.label, pluginId: one.query });
  }
  if (one.type === 'textbox') {
    return new TextBoxVariable({ name: one.name, label: one.label, value: one.query });
  }
  return new QueryVariable({
    ...common, query: one.query, datasource: one.datasource, regex: one.regex, sort: one.sort, refresh: one.refresh,
    isMulti: one.multi, includeAll: one.includeAll, allValue: one.allValue,
  });
}

function panel(one: any) {
  const queries = new SceneQueryRunner({ datasource: one.datasource, queries: one.targets, maxDataPoints: one.maxDataPoints ?? 300 });
  const data = one.transformations?.length
    ? new SceneDataTransformer({ $data: queries, transformations: one.transformations })
    : queries;
  const { x, y, w, h } = one.gridPos;
  return new SceneGridItem({
    x, y, width: w, height: h,
    body: new VizPanel({
      title: one.title, description: one.description, pluginId: one.type, options: one.options ?? {},
      fieldConfig: one.fieldConfig ?? { defaults: {}, overrides: [] }, $data: data,
    }),
  });
}

function scene(board: any) {
  const rows: SceneGridRow[] = [];
  for (const one of board.panels) {
    if (one.type === 'row') {
      rows.push(new SceneGridRow({ title: one.title, y: one.gridPos.y, isCollapsible: true, children: [] }));
    } else {
      const last = rows[rows.length - 1];
      last.setState({ children: [...last.state.children, panel(one)] });
    }
  }
  return new EmbeddedScene({
    $timeRange: new SceneTimeRange({ from: wanted.get('from') ?? board.time.from, to: board.time.to }),
    $variables: new SceneVariableSet({ variables: board.templating.list.map(variable) }),
    controls: [new VariableValueSelectors({}), new SceneTimePicker({})],
    body: new SceneGridLayout({ isLazy: false, children: rows }),
  });
}

async function draw() {
  prepare();
  const board = await (await fetch(`/dashboards/${wanted.get('dashboard')}.json`)).json();
  const drawn = scene(board);
  (window as any).drawn = { log, scene: drawn };
  createRoot(document.getElementById('root')!).render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <MemoryRouter>
        <h1>{board.title}</h1>
        <drawn.Component model={drawn} />
      </MemoryRouter>
    </ThemeContext.Provider>,
  );
}

void draw();
