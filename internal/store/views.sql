-- The views of a study's journal. Their names and columns are for people and for
-- other programs, such as pandas.read_sql("SELECT * FROM rounds", ...). States of trials
-- are running, completed, pruned and failed; whether a process still works on a study is
-- not in the database. Scores are fractions; study_directions says which are better.
-- Times are of ISO 8601, in UTC.

DROP VIEW IF EXISTS acts;
CREATE VIEW acts AS
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, json_extract(data, '$.act') AS act,
       CASE WHEN trial >= 0 THEN trial END AS trial, CASE WHEN trial >= 0 THEN round END AS round
FROM journal WHERE kind = 'act' ORDER BY seq;

DROP VIEW IF EXISTS baseline;
CREATE VIEW baseline AS
SELECT json_extract(j.data, '$.number') AS number, j.round AS rounds, json_extract(b.data, '$.target') AS target,
       json_extract(j.data, '$.score') AS score,
       json_extract(j.data, '$.test_error') AS test_error,
       json_extract(j.data, '$.std_error') AS std_error,
       json_extract(j.data, '$.params') AS params
FROM journal j, (SELECT data FROM journal WHERE kind = 'baseline' ORDER BY seq DESC LIMIT 1) b
WHERE j.kind = 'configuration' AND json_extract(j.data, '$.number') < json_extract(b.data, '$.configurations');

DROP VIEW IF EXISTS curves;
CREATE VIEW curves AS
SELECT * FROM (
  SELECT trial, round, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time,
         sum(json_extract(data, '$.examples')) OVER (PARTITION BY trial ORDER BY round) AS examples,
         json_extract(data, '$.fleet.clock') AS clock,
         json_extract(data, '$.test_error') AS test_error,
         json_extract(data, '$.val_error') AS val_error,
         json_extract(data, '$.unseen_test_error') AS unseen_test_error,
         json_extract(data, '$.masked_test_errors') AS masked_test_errors,
         json_extract(data, '$.params') AS params,
         json_extract(data, '$.test_spread.p10') AS test_error_p10,
         json_extract(data, '$.test_spread.p50') AS test_error_p50,
         json_extract(data, '$.test_spread.p90') AS test_error_p90
  FROM journal WHERE kind = 'round' AND trial NOT IN (SELECT trial FROM defaults))
WHERE test_error IS NOT NULL;

DROP VIEW IF EXISTS decisions;
CREATE VIEW decisions AS
SELECT j.seq AS call, d.key AS number, strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1000.0, 'unixepoch') AS time,
       CASE j.trial WHEN -1 THEN 'study' ELSE 'prepare' END AS session,
       json_extract(d.value, '$.kind') AS kind,
       json_extract(d.value, '$.trial') AS trial,
       json_extract(d.value, '$.source') AS source,
       json_extract(d.value, '$.to_round') AS to_round,
       json_extract(d.value, '$.params') AS params
FROM journal j, json_each(j.data, '$.decisions') d
WHERE j.kind = 'suggest';

-- The trial of the file's own values, which is no trial of the tuner's: tables of trials leave it out.
DROP VIEW IF EXISTS defaults;
CREATE VIEW defaults AS
SELECT trial FROM journal WHERE kind = 'trial' AND json_extract(data, '$.reference') IS NOT NULL;

DROP VIEW IF EXISTS finalists;
CREATE VIEW finalists AS
SELECT trial, round, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time,
       json_extract(data, '$.score') AS score,
       json_extract(data, '$.clients') AS clients,
       json_extract(data, '$.examples') AS examples
FROM journal WHERE kind = 'finalist';

-- The jobs of clients on a fleet, each in the step that took its update or counted it as
-- lost: fate is taken, late, vanished or stale. Times are simulated seconds.
DROP VIEW IF EXISTS jobs;
CREATE VIEW jobs AS
SELECT j.trial AS trial, j.round AS round, json_extract(e.value, '$.client') AS client,
       json_extract(e.value, '$.start') AS start, json_extract(e.value, '$.received') AS received,
       json_extract(e.value, '$.computed') AS computed, json_extract(e.value, '$.end') AS "end",
       coalesce(json_extract(e.value, '$.staleness'), 0) AS staleness, coalesce(json_extract(e.value, '$.fate'), 'taken') AS fate
FROM journal j, json_each(j.data, '$.fleet.jobs') e
WHERE j.kind = 'round';

DROP VIEW IF EXISTS models;
CREATE VIEW models AS
WITH ends AS (SELECT data FROM journal WHERE kind = 'result'),
     told AS (SELECT 1 AS number, 'winner' AS model, json_extract(data, '$.tune.best') AS m FROM ends
              UNION ALL SELECT 2, 'survivor', json_extract(data, '$.tune.survivor') FROM ends
              UNION ALL SELECT 3, 'luckiest', json_extract(data, '$.tune.luckiest') FROM ends
              UNION ALL SELECT 4, 'trained', json_set(json_extract(data, '$.run'), '$.number', 0, '$.round', json_extract(data, '$.run.rounds')) FROM ends)
SELECT number, model, json_extract(m, '$.number') AS trial, json_extract(m, '$.round') AS round,
       json_extract(m, '$.score') AS score,
       coalesce(json_extract(m, '$.cohort_score'), json_extract(m, '$.score')) AS cohort_score,
       json_extract(m, '$.params') AS params, json_extract(m, '$.started_from') AS started_from,
       json_extract(m, '$.probability') AS probability, json_extract(m, '$."table"') AS "table",
       json_extract(m, '$.global_val_error') AS global_val_error,
       json_extract(m, '$.global_test_error') AS global_test_error,
       json_extract(m, '$.personalized_val_error') AS personalized_val_error,
       json_extract(m, '$.personalized_test_error') AS personalized_test_error,
       json_extract(m, '$.unseen_test_error') AS unseen_test_error,
       json_extract(m, '$.unseen_adapted_test_error') AS unseen_adapted_test_error,
       json_extract(m, '$.weights_sha256') AS weights_sha256
FROM told WHERE m IS NOT NULL;

DROP VIEW IF EXISTS notes;
CREATE VIEW notes AS
SELECT j.trial AS trial, j.round AS round, strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1000.0, 'unixepoch') AS time, n.key AS note, n.value AS numbers
FROM journal j, json_each(j.data, '$.Notes') n
WHERE j.kind = 'plan';

DROP VIEW IF EXISTS reports;
CREATE VIEW reports AS
SELECT seq AS call, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time,
       CASE trial WHEN -1 THEN 'study' ELSE 'prepare' END AS session,
       json_extract(data, '$.trial') AS trial, round,
       json_extract(data, '$.score') AS score,
       json_extract(data, '$.failed') AS failed,
       json_extract(data, '$.reason') AS reason
FROM journal WHERE kind = 'report';

DROP VIEW IF EXISTS rounds;
CREATE VIEW rounds AS
SELECT trial, round, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time,
       json_extract(data, '$.score') AS score,
       json_extract(data, '$.train_loss') AS train_loss,
       json_extract(data, '$.test_error') AS test_error,
       json_extract(data, '$.val_error') AS val_error,
       json_extract(data, '$.steps') AS steps,
       json_extract(data, '$.examples') AS examples,
       json_extract(data, '$.dropped') AS dropped,
       json_extract(data, '$.dropped_slots') AS dropped_slots,
       json_extract(data, '$.seconds_simulated') AS seconds_simulated,
       json_extract(data, '$.fleet.clock') AS clock,
       json_extract(data, '$.fleet.late') AS late,
       json_extract(data, '$.fleet.vanished') AS vanished,
       json_extract(data, '$.fleet.stale') AS stale,
       json_extract(data, '$.fleet.failed_rounds') AS failed_rounds
FROM journal WHERE kind = 'round' AND trial NOT IN (SELECT trial FROM defaults);

DROP VIEW IF EXISTS rungs;
CREATE VIEW rungs AS
SELECT trial, round, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, json_extract(data, '$.score') AS score
FROM journal WHERE kind = 'rung' AND trial NOT IN (SELECT trial FROM defaults);

DROP VIEW IF EXISTS sessions;
CREATE VIEW sessions AS
SELECT seq AS session, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time,
       json_extract(data, '$.version') AS version,
       json_extract(data, '$.cpu') AS cpu,
       json_extract(data, '$.level') AS level,
       json_extract(data, '$.workers') AS workers,
       json_extract(data, '$.tuners') AS tuners
FROM journal WHERE kind = 'session';

DROP VIEW IF EXISTS studies;
CREATE VIEW studies AS
SELECT 1 AS study_id, json_extract(data, '$.name') AS study_name FROM journal WHERE kind = 'study';

DROP VIEW IF EXISTS study_directions;
CREATE VIEW study_directions AS
SELECT 1 AS study_direction_id, coalesce(json_extract(data, '$.direction'), 'minimize') AS direction, 1 AS study_id, 0 AS objective FROM journal WHERE kind = 'study';

-- What is asked of each trial is gathered once for all: SQLite would go through the journal
-- for each trial again.
DROP VIEW IF EXISTS trials;
CREATE VIEW trials AS
WITH stopped AS MATERIALIZED (SELECT DISTINCT trial FROM decisions WHERE kind = 'stop' AND session = 'study'),
     whole AS MATERIALIZED (SELECT json_extract(data, '$.trial_rounds') AS rounds FROM journal WHERE kind = 'study'),
     result AS MATERIALIZED (SELECT 1 AS ended, json_extract(data, '$.tune.objectives') IS NOT NULL AS several FROM journal WHERE kind = 'result'),
     front AS MATERIALIZED (SELECT e.value AS trial FROM journal r, json_each(r.data, '$.tune.front') e WHERE r.kind = 'result'),
     acts AS MATERIALIZED (SELECT trial, min(seq), CASE json_extract(data, '$.act') WHEN 'stop study' THEN 'the study was stopped by a user' ELSE 'stopped by a user' END AS reason
               FROM journal WHERE kind = 'act' AND trial >= 0 GROUP BY trial),
     fails AS MATERIALIZED (SELECT trial, min(seq), json_extract(data, '$.reason') AS reason FROM journal WHERE kind = 'fail' GROUP BY trial),
     last AS MATERIALIZED (SELECT trial, max(seq), round, json_extract(data, '$.score') AS score, json_extract(data, '$.values') AS "values"
              FROM journal WHERE kind = 'rung' GROUP BY trial),
     ran AS MATERIALIZED (SELECT trial, max(round) AS round, max(at) AS at FROM journal WHERE kind = 'round' GROUP BY trial)
SELECT j.trial AS trial_id, j.trial AS number, 1 AS study_id,
       CASE
         WHEN fails.trial IS NOT NULL THEN 'failed'
         WHEN acts.trial IS NOT NULL THEN 'pruned'
         WHEN stopped.trial IS NOT NULL AND coalesce(ran.round, j.round) < whole.rounds THEN 'pruned'
         WHEN stopped.trial IS NOT NULL OR result.ended THEN 'completed'
         WHEN ran.round >= whole.rounds AND EXISTS (SELECT 1 FROM journal g WHERE g.kind = 'rung' AND g.trial = j.trial AND g.round = ran.round) THEN 'completed'
         ELSE 'running'
       END AS state,
       coalesce(ran.round, j.round) AS rounds, last.score AS score, last.round AS rung, last."values" AS "values",
       CASE WHEN result.several THEN front.trial IS NOT NULL END AS front,
       coalesce(fails.reason, acts.reason) AS reason,
       json_extract(j.data, '$.source') AS source,
       json_extract(j.data, '$.params') AS params,
       EXISTS (SELECT 1 FROM journal p WHERE p.trial = j.trial AND p.kind = 'plan') AS params_changed,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1000.0, 'unixepoch') AS datetime_start,
       strftime('%Y-%m-%dT%H:%M:%fZ', ran.at / 1000.0, 'unixepoch') AS datetime_complete
FROM journal j LEFT JOIN whole LEFT JOIN result LEFT JOIN stopped ON stopped.trial = j.trial LEFT JOIN front ON front.trial = j.trial
  LEFT JOIN acts ON acts.trial = j.trial LEFT JOIN fails ON fails.trial = j.trial
  LEFT JOIN last ON last.trial = j.trial LEFT JOIN ran ON ran.trial = j.trial
WHERE j.kind = 'trial' AND j.trial NOT IN (SELECT trial FROM defaults);

DROP VIEW IF EXISTS trial_params;
CREATE VIEW trial_params AS
SELECT j.trial * 1000 + row_number() OVER (PARTITION BY j.trial ORDER BY p.key) AS param_id, j.trial AS trial_id,
       p.key AS param_name, p.value AS param_value
FROM journal j, json_each(j.data, '$.params') p
WHERE j.kind = 'trial' AND j.trial NOT IN (SELECT trial FROM defaults);

DROP VIEW IF EXISTS trial_values;
CREATE VIEW trial_values AS
SELECT number AS trial_value_id, number AS trial_id, 0 AS objective, score AS value, 'FINITE' AS value_type
FROM trials WHERE score IS NOT NULL;

DROP VIEW IF EXISTS trial_intermediate_values;
CREATE VIEW trial_intermediate_values AS
SELECT seq AS trial_intermediate_value_id, trial AS trial_id, round AS step,
       json_extract(data, '$.score') AS intermediate_value, 'FINITE' AS intermediate_value_type
FROM journal WHERE kind = 'rung' AND trial NOT IN (SELECT trial FROM defaults);

-- Which worker has trained each round of a study with a cluster, or which workers have
-- trained it together, a row each: those of the newest lease of the trial before,
-- unless the study was resumed since.
DROP VIEW IF EXISTS worker_rounds;
CREATE VIEW worker_rounds AS
SELECT leased.trial AS trial, leased.round AS round, leased.time AS time, coalesce(w.value, json_extract(leased.lease, '$.worker')) AS worker, leased.at AS at
FROM (
  SELECT r.trial AS trial, r.round AS round, strftime('%Y-%m-%dT%H:%M:%fZ', r.at / 1000.0, 'unixepoch') AS time,
         (SELECT l.data FROM journal l
          WHERE l.trial = r.trial AND l.kind = 'lease' AND l.seq < r.seq
            AND l.seq > (SELECT max(s.seq) FROM journal s WHERE s.trial = -1 AND s.kind = 'session' AND s.seq < r.seq)
          ORDER BY +l.seq DESC LIMIT 1) AS lease, r.at AS at
  FROM journal r WHERE r.kind = 'round' AND EXISTS (SELECT 1 FROM journal w WHERE w.trial = -1 AND w.kind = 'worker')) leased
  LEFT JOIN json_each(leased.lease, '$.workers') w
WHERE leased.lease IS NOT NULL;

DROP VIEW IF EXISTS workers;
CREATE VIEW workers AS
WITH ran AS (SELECT worker, count(*) AS rounds, count(DISTINCT trial) AS trials, min(at) AS began, max(at) AS ended FROM worker_rounds GROUP BY worker)
SELECT j.seq AS number, json_extract(j.data, '$.worker') AS worker,
       coalesce((SELECT json_extract(g.data, '$.state') FROM journal g
                 WHERE g.trial = -1 AND g.kind = 'worker' AND g.seq > j.seq AND json_extract(g.data, '$.worker') = json_extract(j.data, '$.worker') LIMIT 1),
                'here') AS state,
       (SELECT l.trial FROM journal l WHERE l.kind = 'lease'
          AND json_extract(j.data, '$.worker') IN (SELECT json_extract(l.data, '$.worker') UNION ALL SELECT value FROM json_each(l.data, '$.workers')) ORDER BY l.seq DESC LIMIT 1) AS last_trial,
       coalesce(ran.trials, 0) AS trials, coalesce(ran.rounds, 0) AS rounds,
       round(1000.0 * (ran.rounds - 1) / nullif(ran.ended - ran.began, 0), 3) AS rounds_per_second,
       json_extract(j.data, '$.host') AS host, json_extract(j.data, '$.pid') AS pid, json_extract(j.data, '$.cpu') AS cpu,
       json_extract(j.data, '$.level') AS level, json_extract(j.data, '$.workers') AS workers,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.at / 1000.0, 'unixepoch') AS joined
FROM journal j LEFT JOIN ran ON ran.worker = json_extract(j.data, '$.worker')
WHERE j.kind = 'worker' AND json_extract(j.data, '$.state') = 'joined';
